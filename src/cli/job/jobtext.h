/* jobtext.h - small grammars of submission options
 *
 * Pure functions.  Those returning int give 0 or -EINVAL; texts returned through ret_text are the
 * caller's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* "[R:|B:]SIG[@secs]".  ret_canonical as scontrol shows it, e.g. "B:USR1@60". */
struct jobtext_signal {
    unsigned signal;
    uint32_t secs;
    bool batch_only;
    bool for_reservation; /* "R:": may reservations take the job's nodes? */
};
int jobtext_signal_parse(const char *text, struct jobtext_signal *ret_signal, char **ret_canonical);
/* "TERM", "SIGTERM", "15".  Gives 0 when unknown. */
unsigned jobtext_signal_number(const char *text);

/* Which nodes of a job get a display, as bits of JobRecord.x11. */
enum jobtext_x11 {
    X11_ALL = 1,
    X11_BATCH = 2, /* where a script would run: the first */
    X11_FIRST = 4,
    X11_LAST = 8,
};
/* Text of --x11, "" for all.  0: it is none. */
unsigned jobtext_x11(const char *text);

/* "BEGIN,END" -> bits of JobRecord.mail_type (numbers of the mail events).  Words that are no event
 * do not count beside one that is. */
int jobtext_mail_parse(const char *text, uint32_t *ret_bits);
/* The next word of bits, from *at == 0 on; NULL behind the last. */
const char *jobtext_mail_word(uint32_t bits, unsigned *at);

/* "{*|block|cyclic|arbitrary|plane=N}[:...][,{Pack|NoPack}]". */
bool jobtext_distribution_ok(const char *text);

/* "min[-max]" with k and m suffixes; *ret_max 0 when none was given.  A negative number is 1.
 * -ERANGE: "min-", of which *ret_min is set. */
int jobtext_nodes_parse(const char *text, uint32_t *ret_min, uint32_t *ret_max);

/* "2,4-8:2" -> {2, 4, 6, 8}: counts and ranges with steps, ascending in *ret (the caller's), at
 * most max of them.  Gives how many there are, -EINVAL, -E2BIG. */
int jobtext_node_counts(const char *text, uint32_t *ret, uint32_t max);

/* A count with k (1024) or m (1024*1024). */
int jobtext_count_parse(const char *text, uint32_t *ret_count);

/* "S[:C[:T]]" with '*' as 0, of "min-max" the least; what is wrong: part *ret_bad. */
int jobtext_geometry_parse(const char *text, uint32_t ret_sct[3], unsigned *ret_bad);
