"""Making a run of reports that were made elsewhere, by whatever program and version of the tools."""
