"""What was published beside a bundle against what it is: the one thing that nobody can forge along with it."""

from __future__ import annotations

from nsight_suite.verifying.checks import Check, Findings, Verification

NAME = "published"
ABOUT = "the archive or its manifest has the SHA-256 that was published"


def published(verification: Verification, digest: str) -> Check:
    """`digest` is the SHA-256 of the archive, or of its manifest.json: 64 small hexadecimal digits.

    What has neither archive nor manifest is not what was published: whoever forges one could drop the other.
    """
    found = Findings()
    here = {"archive": verification.archive_sha256, "manifest.json": verification.manifest_sha256}
    told = {what: mine for what, mine in here.items() if mine}
    if digest in told.values():
        found.count("hashes")
        return found.as_check(NAME, ABOUT)
    for what, mine in told.items():
        found.fail(what, f"has the SHA-256 {mine}, and {digest} was published")
    if not told:
        found.fail("manifest.json", f"is not here, so nothing has the SHA-256 {digest} that was published")
    return found.as_check(NAME, ABOUT)
