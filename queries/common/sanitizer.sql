-- One row per compute-sanitizer tool that was run.
--
-- pass     name of the pass
-- tool     memcheck, racecheck, initcheck, synccheck
-- errors   errors found; NULL when the tool gave no summary
-- summary  the tool's own summary line
SELECT pass, tool, errors, summary
FROM sanitizer
ORDER BY pass, tool
