/* instances.c - instances of nodes as periods; see instances.h */
#include "acct/instances.h"

#include <stdbool.h>
#include <string.h>

#include "base/sametext.h"

static bool is_instance(const Pst__NodeRecord *r)
{
    return r && ((r->instance_id && *r->instance_id) || (r->instance_type && *r->instance_type));
}

static int prepare_statements(struct instances *in, struct sql *db)
{
    int r = 0;

    if (!in->close)
        r = sql_prepare(db,
                        "UPDATE instances SET end_us=? WHERE source=? AND node=? AND "
                        "end_us=9223372036854775807",
                        &in->close);
    if (r == 0 && !in->open)
        r = sql_prepare(db, "REPLACE INTO instances VALUES(?,?,?,9223372036854775807,?,?,?)",
                        &in->open);
    return r;
}

int instances_note(struct instances *in, struct sql *db, int64_t source,
                   const Pst__NodeRecord *before, const Pst__NodeRecord *now, int64_t time_us)
{
    bool was = is_instance(before), is = is_instance(now);
    int r;

    if (was == is && (!is || (same_text(before->instance_id, now->instance_id) &&
                              same_text(before->instance_type, now->instance_type) &&
                              same_text(before->extra, now->extra))))
        return 0;
    r = prepare_statements(in, db);
    if (r == 0 && was) {
        sql_bind(in->close, 0, time_us);
        sql_bind(in->close, 1, source);
        sql_bind_text(in->close, 2, before->name);
        r = sql_run(in->close);
    }
    if (r < 0 || !is)
        return r;
    sql_bind(in->open, 0, source);
    sql_bind_text(in->open, 1, now->name);
    sql_bind(in->open, 2, time_us);
    sql_bind_text(in->open, 3, now->instance_id);
    sql_bind_text(in->open, 4, now->instance_type);
    sql_bind_text(in->open, 5, now->extra);
    return sql_run(in->open);
}
