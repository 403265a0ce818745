/* sh5csv.h - series of a job's file as text */
#pragma once

#include "cli/sh5util/sh5walk.h"

/* A line for each sample, behind a line that names the columns. */
int sh5csv_write(const struct h5_api *api, h5_id file, const struct sh5ids *ids,
                 const struct sh5series *which, FILE *to, struct err *err);
/* A line for each series: when its last sample was, and of each item the least, the most, the sum
 * and the mean of all samples. */
int sh5csv_totals(const struct h5_api *api, h5_id file, const struct sh5ids *ids,
                  const struct sh5series *which, FILE *to, struct err *err);
/* The names of the items of these series, a line each. */
int sh5csv_items(const struct h5_api *api, h5_id file, const struct sh5ids *ids,
                 const struct sh5series *which, FILE *to, struct err *err);
