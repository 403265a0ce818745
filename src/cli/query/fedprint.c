/* fedprint.c - the lines of scontrol show federation; see fedprint.h */
#include "cli/query/fedprint.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

#define COLUMN 11 /* of "Federation:" */

static const char *state_name(uint32_t state)
{
    static const struct {
        uint32_t state;
        const char *name;
    } names[] = {
        { 1, "ACTIVE" }, { 2, "INACTIVE" }, { 1 | 16, "DRAIN" }, { 1 | 16 | 32, "DRAIN+REMOVE" }
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (names[i].state == state)
            return names[i].name;
    return "NA";
}

static const char *yes_no(bool yes)
{
    return yes ? "Yes" : "No";
}

static void print_member(FILE *f, const Pst__FedMember *m, bool self)
{
    (void)fprintf(f, "%-*s %s:%s:%u ID:%u FedState:%s Features:", COLUMN,
                  self ? "Self:" : "Sibling:", m->name ? m->name : "", m->host ? m->host : "",
                  m->port, m->fed_id, state_name(m->fed_state));
    for (size_t i = 0; i < m->n_features; i++)
        (void)fprintf(f, "%s%s", i ? "," : "", m->features[i]);
    if (!self)
        (void)fprintf(f, " PersistConnSend/Recv:%s/%s Synced:%s", yes_no(m->sends),
                      yes_no(m->receives), yes_no(m->synced));
    (void)fprintf(f, "\n");
}

void federation_print(FILE *f, const Pst__FedInfo *info)
{
    if (!info->name)
        return;
    (void)fprintf(f, "%-*s %s\n", COLUMN, "Federation:", info->name);
    for (size_t i = 0; i < info->n_members; i++)
        print_member(f, info->members[i], i == 0);
}
