/* limit_levels.h - the table of levels that have limits */
#pragma once

#include <stdint.h>

struct level;
struct sched;

uint64_t level_key_assoc(uint32_t id);
uint64_t level_key_qos(uint32_t id);
uint64_t level_key_user(uint32_t qos, uint32_t uid);
uint64_t level_key_account(uint32_t qos, uint32_t account);
struct level *level_find(const struct sched *s, uint64_t key);
int limits_make(struct sched *s);
int level_get(struct sched *s, uint64_t key, struct level **ret); /* enters it; -ENOMEM */
void level_free_lists(struct level *l);
void levels_done(struct sched *s);
int level_counts_room(struct sched *s, struct level *l);
