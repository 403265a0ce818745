/* explainmade.h - an answer to "why does it wait" while it is being made (private to this room)
 *
 * Everything of the reply lives in pieces of memory that explain_done() frees; running out of
 * memory sets `failed`, and functions then give NULL or do nothing.  What PrivateData hides from
 * the asker has no name here.  Core thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctld/starts/explain_text.h"

struct explain_piece;

struct explain_made {
    Pst__ExplainReply reply;
    struct explain_piece *pieces;
    const struct explain_text *t;
    bool failed;
};

/* Zeroed memory of the reply. */
void *made_piece(struct explain_made *m, size_t size);
char *made_text(struct explain_made *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Add item (NULL: nothing) to an array of pointers of the reply, which moves when it is full. */
void made_push(struct explain_made *m, void ***list, size_t *n, void *item);
void made_say(struct explain_made *m, char *sentence);
/* A time as people read it: "Unknown" for none. */
const char *made_stamp(struct explain_made *m, int64_t us);
/* "12", "12_3", "12_[4-9]" */
char *made_job_id(struct explain_made *m, const Pst__JobRecord *r);
bool made_hides(const struct explain_made *m, const struct job *j);
/* "(private)" for one that is hidden. */
char *made_job_name(struct explain_made *m, uint32_t id);
/* Whose job it is; NULL: nobody knows, or it is not to be told. */
char *made_owner(struct explain_made *m, const struct job *j);
