"""The definition of a level, as SQL over `series` and `datum`.

It is the same in the rollup and where a few runs are read alone.

Each level is of one device in one session: what was measured there in turn is compared there
(dashboard/judgement/pairs.py).
"""

WARM_UP_POSITIONS = "warm_ups"  # key of Run.request: the positions of its jobs that are warm-ups

# Count; mean, and sum of squares around it, of ln(value), NULL where a value has no logarithm;
# the typical variance within a process; smallest, largest and mean value; the newest job.
# 3.919928 is the width of a 95% interval in standard errors, so ln(high / low) / 3.919928 is the
# standard error of ln(value), and exp(avg(2 * ln(error))) the geometric mean of its square.
LEVEL = """
           count(*),
           CASE WHEN bool_and(datum.value > 0)
                THEN avg(ln(datum.value)) FILTER (WHERE datum.value > 0) END,
           CASE WHEN bool_and(datum.value > 0)
                THEN var_pop(ln(datum.value)) FILTER (WHERE datum.value > 0) * count(*) END,
           exp(avg(2 * ln(greatest(ln(datum.high / datum.low) / 3.919928, 1e-12)))
               FILTER (WHERE datum.low > 0 AND datum.high > datum.low)),
           min(datum.value), max(datum.value), avg(datum.value),
           (array_agg(datum.job_id ORDER BY datum.planned_at DESC))[1]"""
# The same of several rows of BuildLevel, `measured`, as one: all devices, sessions and libraries of
# a build. Equal values keep theirs to the last digit.
POOLED_VALUE = """
           CASE WHEN min(measured.least) = max(measured.most) THEN min(measured.least)
                WHEN bool_and(measured.log_mean IS NOT NULL)
                THEN exp(sum(measured.log_mean * measured.count) / sum(measured.count))
                ELSE sum(measured.mean * measured.count) / sum(measured.count) END"""
POOLED_LEVEL = f"""
           sum(measured.count)::integer AS processes, {POOLED_VALUE} AS value,
           CASE WHEN min(measured.least) = max(measured.most) THEN 0
                ELSE greatest(sum(measured.log_m2 + measured.count * measured.log_mean ^ 2)
                              - sum(measured.count * measured.log_mean) ^ 2 / sum(measured.count),
                              0) END AS squares,
           exp(sum(ln(measured.within) * measured.count) FILTER (WHERE measured.within > 0)
               / sum(measured.count) FILTER (WHERE measured.within > 0)) AS within"""
OF_PLACE = """
    LEFT JOIN dashboard_environment AS environment ON environment.id = datum.environment_id
    LEFT JOIN dashboard_result AS result ON result.job_id = datum.job_id
    CROSS JOIN LATERAL (
        SELECT coalesce(environment.libraries, '') AS libraries,
               coalesce(result.device, '') AS device
    ) AS place"""

# What may have been measured in turn with this: a run says so. Result files do not, and there a day
# counts, or the one before (core/sessions.py). Empty: measured by itself, as the schedule's runs
# are, or to warm up only.
SESSION = f"""
    CASE WHEN run.purpose = 'import' AND run.session = ''
         THEN to_char(datum.planned_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')
         WHEN run.request -> '{WARM_UP_POSITIONS}' @> to_jsonb(job.position) THEN ''
         ELSE run.session END"""
# What did not pass, and what a person has marked as invalid, is left out.
COUNTED = """
    datum.status = 'pass' AND datum.value IS NOT NULL
          AND NOT EXISTS (
              SELECT FROM dashboard_invalidpoint AS invalid
              WHERE invalid.series_id = series.id AND invalid.job_id = datum.job_id
          )"""


def student_t(freedom: str) -> str:
    """The quantile .975 of Student's t for a column of degrees of freedom; NULL of 0.

    Above four by Abramowitz and Stegun 26.7.5 from the normal's, 1.959964: within .003.
    """
    return f"""(CASE WHEN {freedom} BETWEEN 1 AND 4
                     THEN (ARRAY[12.7062, 4.3027, 3.1824, 2.7764])[{freedom}]
                     WHEN {freedom} > 4
                     THEN 1.959964 + 2.372271 / {freedom} + 2.822500 / {freedom} ^ 2
                          + 2.5558 / {freedom} ^ 3
                END)"""


def no_artefact(metric: str, machine: str, benchmark: str) -> str:
    """A condition: the number says something of the model (metrics.is_artefact). Each argument is
    a column, of a metric's key and of two ids.
    """
    return f"""({metric} <> 'compression_ratio' OR NOT EXISTS (
               SELECT FROM dashboard_machine AS its_machine, dashboard_benchmark AS its_benchmark
               WHERE its_machine.id = {machine} AND its_benchmark.id = {benchmark}
                     AND (its_machine.device_kind = 'cpu' OR its_benchmark.size = 'smoke')
           ))"""
