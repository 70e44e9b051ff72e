-- One row per report file that was read into the evidence.
--
-- pass            name of the pass
-- file            name of the file in reports/
-- format          driver-records, nsys-sqlite, nsys-parquet, ncu-csv, ncu-rep, nsight-python-csv, sanitizer-log
-- tool_version    version of the tool that wrote it, from inside the report
-- schema_version  version of the export's schema, from inside the report
-- graph_trace     granularity that the report itself states: node or graph
-- rows            records read
-- complete        whether the file ends as it should
-- sha256          SHA-256 of the file
SELECT pass, file, format, tool_version, schema_version, graph_trace, "rows", complete, sha256
FROM report
ORDER BY pass, file
