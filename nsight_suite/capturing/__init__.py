"""Making a run: choosing cases, checking the machine, and running each pass as a process of its own."""
