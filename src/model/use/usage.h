/* usage.h - what associations and QOS have used, decaying
 *
 * A pure function of the log: every start, end, suspension and resize changes the rate at which the
 * association of the job, all above it and its QOS use, at the time of its transaction; between two
 * such times usage is an exact integral.  Nothing ticks and nothing is polled.  A usage is the sum
 * over everything below.
 *
 * raw is billing x seconds x UsageFactor: what shares are computed from.  TRES usage is count x
 * seconds (memory in MiB), likewise with UsageFactor, and wall the seconds themselves.  All of it
 * halves every half-life (ClusterRecord.usage_half_life_s), but for a QOS with NoDecay.
 *
 * Questions cost O(1) and do not change anything. */
#pragma once

#include "model/cluster.h"

#define USAGE_HALF_LIFE_S 604800u /* where the log does not say */

enum usage_of { USAGE_ASSOC, USAGE_QOS };

double usage_raw(const struct cluster *c, enum usage_of of, uint32_t id, int64_t now_us);
double usage_wall_s(const struct cluster *c, enum usage_of of, uint32_t id, int64_t now_us);
double usage_tres_s(const struct cluster *c, enum usage_of of, uint32_t id, uint32_t tres_id,
                    int64_t now_us);
/* Every TRES that it ever used: fn(ctx, tres_id, count x seconds). */
void usage_each_tres(const struct cluster *c, enum usage_of of, uint32_t id, int64_t now_us,
                     void (*fn)(void *ctx, uint32_t tres_id, double seconds), void *ctx);

/* A TRES text such as "cpu=4,mem=400M,gres/gpu:a100=2": fn for each name with its count, memory in
 * MiB.  Parts that are not name=count are passed over. */
void usage_parse_tres(const char *text, void (*fn)(void *ctx, const char *name, uint64_t count),
                      void *ctx);
