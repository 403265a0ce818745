/* doctorreport.h - what the doctor has found: sentences, an exit status
 *
 * Words of servers are shown without control characters.  One thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum finding {
    FINDING_OK,
    FINDING_NOTE, /* could not be looked at, or is worth knowing */
    FINDING_WARN,
    FINDING_FAIL,
    FINDINGS,
};

struct doctorreport {
    json_t *list; /* of {"check", "result", "text"} */
    unsigned counts[FINDINGS];
};

/* -ENOMEM. */
int doctorreport_init(struct doctorreport *r);
void doctorreport_done(struct doctorreport *r);
/* check: one word. */
void doctorreport_add(struct doctorreport *r, enum finding what, const char *check, const char *fmt,
                      ...) __attribute__((format(printf, 4, 5)));
/* As lines, or as one JSON object: "checks", "result" (the worst), "counts". */
void doctorreport_write(const struct doctorreport *r, bool json, FILE *out);
/* 0, or 1 when something fails. */
int doctorreport_status(const struct doctorreport *r);
