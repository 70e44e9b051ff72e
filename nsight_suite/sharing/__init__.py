"""A copy of a run that is fit to publish: reduced reports, the same evidence, nothing private, a manifest."""

from nsight_suite.sharing.bundling import Bundle, Options, share

__all__ = ["Bundle", "Options", "share"]
