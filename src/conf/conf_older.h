/* conf_older.h - keys of earlier releases that sites still have in their files
 *
 * A file that Slurm 22.05 reads is read here too, with a warning for each such key: one that goes
 * by another name now acts under that name, one whose subject is gone is passed over.  What 22.05
 * refuses stays unknown (conf_key_unknown()). */
#pragma once

#include "conf/conf_priv.h"

/* The key of the table that a key which is none of the table's means; NULL: the pair is dealt with,
 * or waits for conf_olderlate.h; key itself: it is none of earlier releases either. */
const char *conf_older_key(struct conf_loader *l, enum conf_table_id table,
                           const struct conf_row *row, const char *key, const char *value);

/* The value as it is spelt now, with a warning where that is another; else value itself. */
const char *conf_older_value(struct conf_loader *l, enum conf_table_id table,
                             const struct conf_row *row, int key, const char *value);

/* A word of a list that 22.05 takes, and that says nothing any more. */
bool conf_older_word(enum conf_table_id table, int key, const char *word, size_t len);
