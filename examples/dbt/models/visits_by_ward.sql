{{ config(epsilon="0.1") }}
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward
