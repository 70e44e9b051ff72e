-- One row per report, device and each of its 20 longest gaps between work: what ended before and what began after.
--
-- pass      name of the report
-- device    device number in the report
-- place     position by length, from 1; of equals the earlier first
-- start_ns  when all work before it had ended, in ns of the capture's clock
-- gap_ns    how long no kernel, copy, fill or whole graph ran, in ns
-- before    name of the work that ended last before it
-- after     name of the work that began first after it
WITH placed AS (
    SELECT
        pass,
        device,
        name,
        start_ns,
        end_ns,
        max(end_ns) OVER (
            PARTITION BY pass, device ORDER BY start_ns, end_ns, name
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS ended_ns
    FROM device_work
), gap AS (
    SELECT
        pass,
        device,
        name AS after,
        ended_ns,
        start_ns,
        row_number() OVER (PARTITION BY pass, device ORDER BY start_ns - ended_ns DESC, start_ns) AS place
    FROM placed
    WHERE start_ns > ended_ns
    QUALIFY place <= 20
), ended AS (
    SELECT w.pass, w.device, w.end_ns, min(w.name) AS name
    FROM device_work AS w
    SEMI JOIN gap ON gap.pass = w.pass AND gap.device IS NOT DISTINCT FROM w.device AND gap.ended_ns = w.end_ns
    GROUP BY ALL
)
SELECT
    gap.pass,
    gap.device,
    gap.place,
    gap.ended_ns AS start_ns,
    gap.start_ns - gap.ended_ns AS gap_ns,
    ended.name AS before,
    gap.after
FROM gap
JOIN ended
    ON ended.pass = gap.pass AND ended.device IS NOT DISTINCT FROM gap.device AND ended.end_ns = gap.ended_ns
ORDER BY gap.pass, gap.device, gap.place
