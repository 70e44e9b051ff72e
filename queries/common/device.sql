-- One row per pass and moment: the GPU that its driver used and the state it was in; recorded, never set.
--
-- pass                  name of the pass
-- uuid                  GPU UUID
-- name                  product name
-- compute_capability    major.minor
-- multiprocessors       number of streaming multiprocessors
-- l2_bytes              size of the L2 cache in bytes
-- memory_bytes          device memory in bytes
-- driver_version        NVIDIA driver
-- cuda_driver_version   CUDA version of the driver, 1000*major + 10*minor
-- moment                before or after the measurements; NULL when no state was recorded
-- sm_clock_mhz          multiprocessor clock in MHz
-- memory_clock_mhz      memory clock in MHz
-- power_mw              board power in milliwatts
-- temperature_c         GPU temperature in degrees Celsius
-- throttle_reasons      clock event reasons, joined by '+'
-- ecc                   ECC mode
SELECT
    d.pass,
    d.uuid,
    d.name,
    d.compute_capability,
    d.multiprocessors,
    d.l2_bytes,
    d.memory_bytes,
    d.driver_version,
    d.cuda_driver_version,
    s.moment,
    s.sm_clock_mhz,
    s.memory_clock_mhz,
    s.power_mw,
    s.temperature_c,
    s.throttle_reasons,
    s.ecc
FROM device AS d
LEFT JOIN device_state AS s ON s.pass = d.pass
ORDER BY d.pass, d.uuid, s.moment DESC
