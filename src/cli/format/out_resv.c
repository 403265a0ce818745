/* out_resv.c - reservations as text, JSON and a table; see out_resv.h. */
#include "cli/format/out_resv.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbsafe.h"
#include "base/timefmt.h"
#include "api.pb-c.h"
#include "model/words/resvwords.h"
#include "wire/client.h"
#include "wire/ops.h"

#define PURGE_DEFAULT_S 300u /* told of a reservation that is not purged */

int resv_load(struct client *c, Pst__ResvSet **ret)
{
    Pst__Empty request = PST__EMPTY__INIT;

    int r = client_call(c, OP_QUERY_RESVS, &request.base, (ProtobufCMessage **)ret);

    if (r >= 0)
        pbsafe_clean(&(*ret)->base);
    return r;
}

void resv_span(const Pst__ReservationRecord *r, int64_t now_us, int64_t *ret_start_us,
               int64_t *ret_end_us)
{
    *ret_start_us = resv_has(r, RESV_FLAG(TIME_FLOAT)) ? now_us + (int64_t)r->float_s * USEC_PER_SEC
                                                       : r->start_us;
    *ret_end_us = *ret_start_us + (r->end_us - r->start_us);
}

static bool is_active(const Pst__ReservationRecord *r, int64_t now_us)
{
    int64_t start, end;

    resv_span(r, now_us, &start, &end);
    return start <= now_us && now_us <= end;
}

static const char *or_null(const char *text)
{
    return text && *text ? text : "(null)";
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_times(struct strbuf *sb, const Pst__ReservationRecord *r, int64_t now_us)
{
    char start[64], end[64], length[32];
    int64_t start_us, end_us;

    resv_span(r, now_us, &start_us, &end_us);
    time_fmt_stamp(start_us, "Unknown", now_us, start, sizeof(start));
    time_fmt_stamp(end_us, "Unknown", now_us, end, sizeof(end));
    time_fmt_hms((end_us - start_us) / USEC_PER_SEC, length, sizeof(length));
    strbuf_addf(sb, "ReservationName=%s StartTime=%s EndTime=%s Duration=%s", r->name, start, end,
                length);
}

void resv_text(struct strbuf *sb, const Pst__ReservationRecord *r, int64_t now_us, bool oneliner)
{
    const char *next = oneliner ? " " : "\n   ";
    char flags[512], delay[32] = "(null)";

    resv_flags_text(r, flags, sizeof(flags));
    if (r->has_max_start_delay_s)
        time_fmt_hms(r->max_start_delay_s, delay, sizeof(delay));
    put_times(sb, r, now_us);
    strbuf_addf(sb, "%sNodes=%s NodeCnt=%u CoreCnt=%u Features=%s PartitionName=%s Flags=%s", next,
                or_null(r->nodes), r->node_cnt, r->core_cnt, or_null(r->features),
                or_null(r->partition), flags);
    for (size_t i = 0; i < r->n_cores; i++)
        strbuf_addf(sb, "%s%sNodeName=%s CoreIDs=%s", next, oneliner ? "" : "  ", r->cores[i]->node,
                    r->cores[i]->cores);
    strbuf_addf(sb, "%sTRES=%s", next, r->tres ? r->tres : "");
    strbuf_addf(sb, "%sAllowedPartitions=%s QOS=%s", next, or_null(r->allowed_partitions),
                or_null(r->qos));
    strbuf_addf(sb, "%sUsers=%s Groups=%s Accounts=%s Licenses=%s State=%s BurstBuffer=%s", next,
                or_null(r->users), or_null(r->groups), or_null(r->accounts), or_null(r->licenses),
                is_active(r, now_us) ? "ACTIVE" : "INACTIVE", or_null(r->burst_buffer));
    strbuf_addf(sb, "%sMaxStartDelay=%s", next, delay);
    if (r->comment)
        strbuf_addf(sb, "%sComment=%s", next, r->comment);
    strbuf_add(sb, oneliner ? "\n" : "\n\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_flags(struct json *js, const Pst__ReservationRecord *r)
{
    json_list(js, "flags");
    for (unsigned i = 0; resv_flag_name(i); i++)
        if (r->has_flags && (r->flags >> i & 1))
            json_str(js, NULL, resv_flag_name(i));
    json_list_end(js);
}

void resv_json(struct json *js, const Pst__ReservationRecord *r, int64_t now_us)
{
    int64_t start_us, end_us;

    resv_span(r, now_us, &start_us, &end_us);
    json_map(js, NULL);
    json_str(js, "accounts", r->accounts);
    json_str(js, "burst_buffer", r->burst_buffer);
    json_int(js, "core_count", r->core_cnt);
    json_list(js, "core_specializations");
    for (size_t i = 0; i < r->n_cores; i++) {
        json_map(js, NULL);
        json_str(js, "node", r->cores[i]->node);
        json_str(js, "core", r->cores[i]->cores);
        json_map_end(js);
    }
    json_list_end(js);
    json_time(js, "end_time", end_us);
    json_str(js, "features", r->features);
    put_flags(js, r);
    json_str(js, "groups", r->groups);
    json_str(js, "licenses", r->licenses);
    json_int(js, "max_start_delay", r->max_start_delay_s);
    json_str(js, "name", r->name);
    json_int(js, "node_count", r->node_cnt);
    json_str(js, "node_list", r->nodes);
    json_str(js, "partition", r->partition);
    json_map(js, "purge_completed");
    json_set(js, "time", resv_has(r, RESV_FLAG(PURGE_COMP)) ? r->purge_comp_s : PURGE_DEFAULT_S);
    json_map_end(js);
    json_time(js, "start_time", start_us);
    json_str(js, "tres", r->tres);
    json_str(js, "users", r->users);
    json_map_end(js);
}

/* ---- sinfo -T -------------------------------------------------------------------------------- */

void resv_table(struct strbuf *sb, const Pst__ResvSet *set, bool header)
{
    int width = (int)strlen("RESV_NAME");

    for (size_t i = 0; i < set->n_items; i++)
        width = MAX(width, (int)strlen(set->items[i]->name));
    if (header)
        strbuf_addf(sb, "%-*s  %8s  %19s  %19s  %11s  %s\n", width, "RESV_NAME", "STATE",
                    "START_TIME", "END_TIME", "DURATION", "NODELIST");
    for (size_t i = 0; i < set->n_items; i++) {
        const Pst__ReservationRecord *r = set->items[i];
        char start[64], end[64], length[32];
        int64_t start_us, end_us;

        resv_span(r, set->now_us, &start_us, &end_us);
        time_fmt_stamp(start_us, "Unknown", set->now_us, start, sizeof(start));
        time_fmt_stamp(end_us, "Unknown", set->now_us, end, sizeof(end));
        time_fmt_hms((end_us - start_us) / USEC_PER_SEC, length, sizeof(length));
        strbuf_addf(sb, "%-*s  %8s  %19s  %19s  %11s  %s\n", width, r->name,
                    is_active(r, set->now_us) ? "ACTIVE" : "INACTIVE", start, end, length,
                    or_null(r->nodes));
    }
}

const char *resv_keeps(const Pst__ReservationRecord *r, int64_t now_us)
{
    return is_active(r, now_us) ? r->licenses : NULL;
}
