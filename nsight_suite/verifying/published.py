"""What was published beside a bundle against what it is: the one thing that nobody can forge along with it."""

from __future__ import annotations

from nsight_suite.verifying.checks import Check, Findings, Verification

NAME = "published"
ABOUT = "the archive or its manifest has the SHA-256 that was published"


def published(verification: Verification, digest: str) -> Check:
    """`digest` is the SHA-256 of the archive, or of its manifest.json."""
    found = Findings()
    here = {"archive": verification.archive_sha256, "manifest.json": verification.manifest_sha256}
    told = {what: mine for what, mine in here.items() if mine}
    if not told:
        found.miss("there is neither an archive nor a manifest that could have that SHA-256")
    elif digest.strip().lower() in told.values():
        found.count("hashes")
    else:
        for what, mine in told.items():
            found.fail(what, f"has the SHA-256 {mine}, and {digest} was published")
    return found.as_check(NAME, ABOUT)
