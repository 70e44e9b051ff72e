-- One row per workload that ncu profiled and metric, as the report gives it.
--
-- pass           name of the report: ncu or ncu-warm in a run of the suite
-- cache_control  all: caches flushed before each kernel; none: caches as found
-- workload_id    ID of the workload in its report
-- case_id        the range around the launch; a case for the suite's own
-- invocation     ordinal of the invocation, from 0; NULL when unknown
-- ordinal        position of the workload inside the invocation, from 0
-- workload       kernel, or graph (a whole replay measured as one)
-- kernel         name of the kernel
-- section        section of a details page that shows the metric under a label of its own; NULL for the metric itself
-- metric         exact name of the metric, or its label
-- instance       instance of a metric that has several values (an address, an opcode); NULL for the metric as a whole
-- value          value in the base unit; NULL when it could not be had or is text
-- unit           base unit; empty for a plain number
-- text           value of a metric that is no number
-- reason         why there is no value
SELECT
    k.pass,
    p.cache_control,
    k.workload_id,
    k.range_name AS case_id,
    k.invocation,
    k.ordinal,
    k.workload,
    k.name AS kernel,
    k.section,
    k.metric,
    k.instance,
    k.value,
    k.unit,
    k.text,
    k.reason
FROM counter AS k
LEFT JOIN "pass" AS p ON p.pass = k.pass
ORDER BY k.pass, k.workload_id, k.section NULLS FIRST, k.metric, k.instance NULLS FIRST
