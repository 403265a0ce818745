/* lics.h - licences: counts that belong to no node */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sched;
struct sched_lic_req;

struct license {
    uint64_t total, used;
};

struct job_lic {
    uint32_t id;
    uint64_t count;
};

struct job_lics { /* all of v, or any one of it */
    struct job_lic *v;
    uint32_t n;
    bool any;
};

int lic_id(struct sched *s, const char *name, uint32_t *ret_id);
void lics_free(struct job_lics *l);
int lics_build(struct sched *s, const struct sched_lic_req *req, size_t n, bool any,
               struct job_lics *ret);
uint64_t lic_unused(const struct sched *s, uint32_t id);
int lics_choose(const struct job_lics *want, uint32_t which, struct job_lics *ret);
void lics_take(struct sched *s, const struct job_lics *l);
void lics_release(struct sched *s, const struct job_lics *l);
uint64_t *lics_spare(const struct sched *s); /* NULL: out of memory */
int lics_tell(const struct sched *s, const struct job_lics *l, struct sched_lic_req **ret,
              size_t *ret_n);
