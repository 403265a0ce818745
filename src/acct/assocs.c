/* assocs.c - associations as their table has them; see assocs.h. */
#include "acct/assocs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "assoc.pb-c.h"

#define ENTITY_ASSOC 6 /* AcctChange.assoc */

static int take_record(struct assoc_row *row, const Pst__AssocRecord *rec)
{
    if (!rec->account || !rec->cluster || rec->deleted)
        return 0;
    *row = (struct assoc_row){ .id = rec->assoc_id,
                               .parent = rec->parent_id,
                               .cluster = strdup(rec->cluster),
                               .account = strdup(rec->account),
                               .user = rec->user ? strdup(rec->user) : NULL };
    if (row->cluster && row->account && (row->user || !rec->user))
        return 1;
    free(row->cluster);
    free(row->account);
    free(row->user);
    return -ENOMEM;
}

static int read_row(void *item, struct sql_stmt *stmt)
{
    size_t len;
    const void *data = sql_blob(stmt, 0, &len);
    Pst__AcctChange *change = pst__acct_change__unpack(NULL, len, data);
    int r = 0;

    if (change && change->body_case == PST__ACCT_CHANGE__BODY_ASSOC)
        r = take_record(item, change->assoc);
    if (change)
        pst__acct_change__free_unpacked(change, NULL);
    return r;
}

int assocs_load(struct sql *db, struct assoc_row **ret, size_t *ret_n)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int64_t version = 0;
    int r = sql_get(db, "SELECT version FROM parts WHERE name='admin'", 0, &version);

    *ret = NULL;
    *ret_n = 0;
    if (r < 0 || !version)
        return r;
    r = sql_prepare(db, "SELECT record FROM entities WHERE kind=?", &stmt);
    if (r < 0)
        return r;
    sql_bind(stmt, 0, ENTITY_ASSOC);
    return sql_collect(stmt, sizeof(**ret), read_row, ret, ret_n);
}

void assocs_free(struct assoc_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(rows[i].cluster);
        free(rows[i].account);
        free(rows[i].user);
    }
    free(rows);
}
