/* assoctree.h - associations and QOS: what the fair-share, association and QOS factors come from */
#pragma once

#include <stdint.h>

struct sched;

void assocs_done(struct sched *s);
int assocs_refresh(struct sched *s); /* compute shares anew when something changed */
double assoc_fairshare(const struct sched *s, uint32_t id);
double assoc_factor(const struct sched *s, uint32_t id);
double qos_factor(const struct sched *s, uint32_t qos);
