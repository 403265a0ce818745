/* resvkeys.c - the keys of reservations; see resvkeys.h. */
#include "cli/query/resvkeys.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"
#include "model/words/resvwords.h"

enum key {
    K_NAME,
    K_START,
    K_END,
    K_DURATION,
    K_FLAGS,
    K_NODE_CNT,
    K_NODES,
    K_CORES,
    K_TRES,
    K_TRES_PER_NODE,
    K_DELAY,
    K_TEXT, /* a field as it is */
    K_LIST, /* a comma list that += and -= edit */
};

#define SET_AT(field) offsetof(Pst__ReservationRecord, field)
#define HOW_AT(field) offsetof(Pst__ResvRequest, has_##field)
#define HOW(field) HOW_AT(field), offsetof(Pst__ResvRequest, field)

static const struct row {
    const char *name;
    size_t shortest; /* letters that are enough */
    enum key key;
    size_t field;        /* K_TEXT, K_LIST: in the record */
    size_t has_how, how; /* K_LIST: in the request */
} rows[] = {
    { "ReservationName", 3, K_NAME, 0, 0, 0 },
    { "StartTime", 1, K_START, 0, 0, 0 },
    { "EndTime", 1, K_END, 0, 0, 0 },
    { "Duration", 1, K_DURATION, 0, 0, 0 },
    { "Flags", 2, K_FLAGS, 0, 0, 0 },
    { "NodeCnt", 5, K_NODE_CNT, 0, 0, 0 },
    { "NodeCount", 5, K_NODE_CNT, 0, 0, 0 },
    { "Nodes", 5, K_NODES, SET_AT(nodes), HOW(nodes_edit) },
    { "CoreCnt", 5, K_CORES, 0, 0, 0 },
    { "TRES", 1, K_TRES, 0, 0, 0 },
    { "TRESPerNode", 5, K_TRES_PER_NODE, 0, 0, 0 },
    { "MaxStartDelay", 1, K_DELAY, 0, 0, 0 },
    { "Features", 2, K_TEXT, SET_AT(features), 0, 0 },
    { "PartitionName", 1, K_TEXT, SET_AT(partition), 0, 0 },
    { "Licenses", 1, K_TEXT, SET_AT(licenses), 0, 0 },
    { "BurstBuffer", 1, K_TEXT, SET_AT(burst_buffer), 0, 0 },
    { "Comment", 3, K_TEXT, SET_AT(comment), 0, 0 },
    { "Users", 1, K_LIST, SET_AT(users), HOW(users_edit) },
    { "Groups", 1, K_LIST, SET_AT(groups), HOW(groups_edit) },
    { "Accounts", 2, K_LIST, SET_AT(accounts), HOW(accounts_edit) },
    { "QOS", 1, K_LIST, SET_AT(qos), HOW(qos_edit) },
    { "AllowedPartitions", 2, K_LIST, SET_AT(allowed_partitions), HOW(partitions_edit) },
};

const char *resvkeys_name(size_t i)
{
    return i < ARRAY_SIZE(rows) ? rows[i].name : NULL;
}

void resvkeys_init(struct resvkeys *k)
{
    memset(k, 0, sizeof(*k));
    pst__resv_request__init(&k->req);
    pst__reservation_record__init(&k->set);
}

void resvkeys_done(struct resvkeys *k)
{
    k->req.set = NULL; /* the record is ours */
    pb_done(&k->req.base);
    pb_done(&k->set.base);
}

static void keep_text(char **field, const char *text)
{
    check_mem_or_die(pb_set_str(field, text));
}

static const struct row *find_row(const char *word, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (len >= rows[i].shortest && len <= strlen(rows[i].name) &&
            strncasecmp(word, rows[i].name, len) == 0)
            return &rows[i];
    return NULL;
}

static int take_time(struct resvkeys *k, const char *word, int64_t now_us, bool start,
                     struct err *err)
{
    const char *value = strchr(word, '=') + 1; /* the caller found one */
    int64_t *ret = start ? &k->set.start_us : &k->set.end_us;

    if (time_when_parse(value, now_us, true, ret, NULL) < 0) {
        k->bad_time = value;
        return err_set(err, -EINVAL, "Invalid %s time %s", start ? "start" : "end", word);
    }
    *(start ? &k->set.has_start_us : &k->set.has_end_us) = true;
    return 0;
}

static int take_duration(struct resvkeys *k, const char *word, Pst__ListEdit how, struct err *err)
{
    const char *value = strchr(word, '=') + 1; /* the caller found one */
    uint32_t minutes;

    if (time_limit_parse(value, &minutes, NULL) < 0 ||
        (how != PST__LIST_EDIT__LIST_SET && minutes > INT32_MAX / 2))
        return err_set(err, -EINVAL, "Invalid duration %s", word);
    if (how == PST__LIST_EDIT__LIST_SET) {
        k->req.has_duration_min = true;
        k->req.duration_min = minutes;
        k->req.has_duration_change_min = false; /* the last word counts */
        return 0;
    }
    k->req.has_duration_change_min = true;
    k->req.duration_change_min =
        how == PST__LIST_EDIT__LIST_ADD ? (int32_t)minutes : -(int32_t)minutes;
    return 0;
}

static const char *sign_of(Pst__ListEdit how)
{
    return how == PST__LIST_EDIT__LIST_ADD ? "+" : how == PST__LIST_EDIT__LIST_REMOVE ? "-" : "";
}

/* Words with a sign of their own are added or taken away, whatever the sign before =. */
static int take_flags(struct resvkeys *k, const char *value, Pst__ListEdit how, struct err *err)
{
    for (const char *p = value; *p; p += strcspn(p, ","), p += *p == ',') {
        bool cut = how == PST__LIST_EDIT__LIST_REMOVE;
        size_t n = strcspn(p, ",");
        uint32_t purge_s = 0;
        const char *word = p;
        uint64_t flag;

        if (n && (*word == '+' || *word == '-')) {
            cut = *word == '-';
            word++;
            n--;
        }
        if (!n)
            continue;
        flag = resv_flag_parse(word, n, &purge_s);
        if (!flag)
            return err_set(err, -EINVAL, "Error parsing flags %s%s", sign_of(how), value);
        if (cut) {
            k->req.has_flags_clear = true;
            k->req.flags_clear |= flag;
        } else {
            k->req.has_flags_set = true;
            k->req.flags_set |= flag;
            if (purge_s) {
                k->set.has_purge_comp_s = true;
                k->set.purge_comp_s = purge_s;
            }
        }
    }
    return 0;
}

/* "+a,b" and "-a" in place of += and -=; slurmctld reads "+a,-b" word by word. */
static int take_nodes(struct resvkeys *k, const char *value, Pst__ListEdit how)
{
    if (how == PST__LIST_EDIT__LIST_SET && (*value == '+' || *value == '-') &&
        !strstr(value, ",+") && !strstr(value, ",-")) {
        how = *value == '+' ? PST__LIST_EDIT__LIST_ADD : PST__LIST_EDIT__LIST_REMOVE;
        value++;
    }
    keep_text(&k->set.nodes, value);
    k->nodes_given = *value != '\0';
    k->req.has_nodes_edit = true;
    k->req.nodes_edit = how;
    return 0;
}

static int take_counts(struct resvkeys *k, const char *value, struct err *err)
{
    for (const char *p = value; *p; p += strcspn(p, ","), p += *p == ',') {
        char word[32];
        size_t n = strcspn(p, ",");
        uint64_t count;

        if (!n || n >= sizeof(word))
            return err_set(err, -EINVAL, "Invalid node count %s", value);
        memcpy(word, p, n);
        word[n] = '\0';
        if (size_count_parse(word, &count, NULL) < 0 || count > UINT32_MAX - 1)
            return err_set(err, -EINVAL, "Invalid node count %s", value);
    }
    if (!*value)
        return err_set(err, -EINVAL, "Invalid node count %s", value);
    keep_text(&k->set.want_node_cnts, value);
    return 0;
}

static int take_cores(struct resvkeys *k, const char *value, struct err *err)
{
    uint64_t n;

    if (parse_u64(value, 1, UINT32_MAX - 1, &n) < 0)
        return err_set(err, -EINVAL, "Invalid core count %s", value);
    k->set.has_want_cores = true;
    k->set.want_cores = (uint32_t)n;
    return 0;
}

static int take_delay(struct resvkeys *k, const char *word, struct err *err)
{
    const char *value = strchr(word, '=') + 1; /* the caller found one */
    uint32_t seconds;

    if (time_delay_parse(value, &seconds, NULL) < 0)
        return err_set(err, -EINVAL, "Invalid duration %s", word);
    k->set.has_max_start_delay_s = true;
    k->set.max_start_delay_s = seconds;
    return 0;
}

static int take_value(struct resvkeys *k, const struct row *row, const char *word,
                      Pst__ListEdit how, int64_t now_us, struct err *err)
{
    const char *value = strchr(word, '=') + 1; /* the caller found one */

    switch (row->key) {
    case K_NAME:
        keep_text(&k->req.name, value);
        return 0;
    case K_START:
        return take_time(k, word, now_us, true, err);
    case K_END:
        return take_time(k, word, now_us, false, err);
    case K_DURATION:
        return take_duration(k, word, how, err);
    case K_FLAGS:
        return take_flags(k, value, how, err);
    case K_NODE_CNT:
        return take_counts(k, value, err);
    case K_NODES:
        return take_nodes(k, value, how);
    case K_CORES:
        return take_cores(k, value, err);
    case K_DELAY:
        return take_delay(k, word, err);
    case K_TRES_PER_NODE:
        k->req.has_tres_per_node = k->req.tres_per_node = true;
        keep_text(&k->set.want_tres, value);
        return 0;
    case K_TRES:
        keep_text(&k->set.want_tres, value);
        return 0;
    case K_LIST:
        if (*(char **)((char *)&k->set + row->field))
            return err_set(err, -EEXIST, "Parameter %s specified more than once", word);
        *(protobuf_c_boolean *)((char *)&k->req + row->has_how) = true;
        *(Pst__ListEdit *)((char *)&k->req + row->how) = how;
        keep_text((char **)((char *)&k->set + row->field), value);
        return 0;
    case K_TEXT:
        keep_text((char **)((char *)&k->set + row->field), value);
        return 0;
    }
    return -ENOENT;
}

/* += and -= mean something. */
static bool has_edits(const struct resvkeys *k, const struct row *row)
{
    return row->key == K_LIST || row->key == K_FLAGS || row->key == K_DURATION ||
           (row->key == K_NODES && !k->creating);
}

int resvkeys_take(struct resvkeys *k, const char *word, int64_t now_us, struct err *err)
{
    const char *equals = strchr(word, '=');
    Pst__ListEdit how = PST__LIST_EDIT__LIST_SET;
    const struct row *row;
    size_t len;

    if (!equals) {
        if (strlen(word) < 2 || strncasecmp(word, "Skip", strlen(word)) != 0)
            return err_set(err, -ENOENT,
                           "Misformatted parameter '%s', most options have a parameter after '='",
                           word);
        k->req.has_skip = k->req.skip = k->any = true;
        return 0;
    }
    len = (size_t)(equals - word);
    if (len && (equals[-1] == '+' || equals[-1] == '-')) {
        how = equals[-1] == '+' ? PST__LIST_EDIT__LIST_ADD : PST__LIST_EDIT__LIST_REMOVE;
        len--;
    }
    row = find_row(word, len);
    if (!row)
        return err_set(err, -ENOENT, "Unknown parameter %s", word);
    if (how != PST__LIST_EDIT__LIST_SET && !has_edits(k, row))
        return err_set(err, -EINVAL, "The +=/-= notation is not supported when updating %.*s",
                       (int)len, word);
    k->any = k->any || row->key != K_NAME;
    k->req.set = &k->set;
    return take_value(k, row, word, how, now_us, err);
}

/* ---- a new one ------------------------------------------------------------------------------- */

static bool has_key(const char *text)
{
    return text && *text;
}

static int64_t minutes_of(const struct resvkeys *k)
{
    return (int64_t)k->req.duration_min * 60 * USEC_PER_SEC;
}

/* A new one has no length yet that could be changed: += and -= say the length itself. */
static void take_change_as_length(struct resvkeys *k)
{
    if (!k->req.has_duration_change_min)
        return;
    k->req.has_duration_min = true;
    k->req.duration_min = (uint32_t)abs(k->req.duration_change_min);
    k->req.has_duration_change_min = false;
}

static int check_times(const struct resvkeys *k, struct err *err)
{
    const Pst__ReservationRecord *s = &k->set;

    if (!s->has_start_us)
        return err_set(err, -EINVAL, "A start time must be given.  No reservation created.");
    if (!s->has_end_us && !k->req.has_duration_min)
        return err_set(err, -EINVAL,
                       "An end time or duration must be given.  No reservation created.");
    if (s->has_end_us && k->req.has_duration_min && s->start_us + minutes_of(k) != s->end_us)
        return err_set(err, -EINVAL,
                       "StartTime + Duration does not equal EndTime.  No reservation created.");
    if (s->has_end_us && s->start_us > s->end_us)
        return err_set(err, -EINVAL,
                       "Start time cannot be after end time.  No reservation created.");
    return 0;
}

int resvkeys_check_create(struct resvkeys *k, struct err *err)
{
    const uint64_t flags = k->req.has_flags_set ? k->req.flags_set : 0;
    Pst__ReservationRecord *s = &k->set;
    bool counted = has_key(s->want_node_cnts) || s->has_want_cores || has_key(s->want_tres);
    bool all = has_key(s->nodes) && strcasecmp(s->nodes, "ALL") == 0;
    int r;

    take_change_as_length(k);
    r = check_times(k, err);

    if (r < 0)
        return r;
    if ((flags & RESV_FLAG(PART_NODES)) && (!has_key(s->partition) || (has_key(s->nodes) && !all)))
        return err_set(
            err, -EINVAL,
            "PART_NODES flag requires specifying a Partition and ALL nodes.  No reservation created.");
    if ((flags & RESV_FLAG(FORCE_START)) && !(flags & RESV_RECURS))
        return err_set(
            err, -EINVAL,
            "FORCE_START needs a flag by which the reservation recurs.  No reservation created.");
    if (!counted && !k->nodes_given && !has_key(s->licenses) && !has_key(s->burst_buffer) &&
        !has_key(s->partition))
        return err_set(
            err, -EINVAL,
            "CoreCnt, Nodes, NodeCnt, TRES or Watts must be specified.  No reservation created.");
    /* all of the partition */
    if (has_key(s->partition) && (all || (!counted && !has_key(s->licenses) && !k->nodes_given))) {
        keep_text(&s->nodes, "ALL");
        k->req.has_nodes_edit = false;
        k->req.has_flags_set = true;
        k->req.flags_set |= RESV_FLAG(PART_NODES);
    }
    if (!has_key(s->users) && !has_key(s->groups) && !has_key(s->accounts) && !has_key(s->qos) &&
        !has_key(s->allowed_partitions))
        return err_set(
            err, -EINVAL,
            "Either Users/Groups, AllowedPartitions, QOS and/or Accounts must be specified.  "
            "No reservation created.");
    if (has_key(s->users) && has_key(s->groups))
        return err_set(err, -EINVAL,
                       "Users and Groups are mutually exclusive.  You can have one or the other, "
                       "but not both.  No reservation created.");
    return 0;
}
