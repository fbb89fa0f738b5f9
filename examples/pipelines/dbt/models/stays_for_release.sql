-- Written to Parquet, from which shoal reads; here 2,000 generated rows stand for a table of the warehouse.
{{ config(materialized="external", location="target/stays/stays.parquet") }}

select
    'patient ' || range as name,
    20 + (range * 7919) % 70 as age,
    1000 + (range * 6007) % 9001 as income,
    ['north', 'south', 'west'][1 + (range * 31) % 3] as region,
    ['asthma', 'diabetes', 'fracture'][1 + (range // 7) % 3] as diagnosis
from range(2000)
