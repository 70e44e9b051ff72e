-- One row per number of a table that another tool has already averaged (nsight-python).
--
-- pass           name of the report
-- row            row in the file, from 0
-- annotation     name of the annotated code
-- configuration  JSON object with the parameters of the configuration
-- kernel         kernel name as the tool gives it
-- metric         name of the metric
-- statistic      mean, standard deviation, minimum, maximum …
-- value          value in the base unit; NULL when it could not be had
-- unit           base unit; NULL when unknown
-- runs           runs that were averaged; NULL when unknown
-- reason         why there is no value
--
-- The single runs are gone: no percentile and no first run can be had from these.
SELECT pass, "row", annotation, configuration, kernel, metric, statistic, value, unit, runs, reason
FROM measurement
ORDER BY
    pass,
    "row",
    metric,
    statistic NULLS FIRST,
    value,
    annotation,
    configuration,
    kernel,
    unit,
    runs,
    reason
