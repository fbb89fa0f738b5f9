select region, count(*) as stays, avg(age) as age
from {{ source("shoal", "stays_safe") }}
group by region
