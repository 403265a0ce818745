/* scontrol_refuse.c - commands and entities of scontrol that this version does not have
 *
 * Each has the sentence users get.  Rows vanish as the commands arrive.  Pure tables. */
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "cli/scontrol/scontrol.h"

static const struct refused {
    const char *what; /* "" for a command, "show " for an entity of show */
    const char *name;
    const char *why;
} refused[] = {
    { "", "getent", "user names come from the name service of each node" },
};

bool scontrol_refuse(struct scontrol *s, const char *what, const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        if (strcmp(refused[i].what, what) != 0 || strcasecmp(refused[i].name, word) != 0)
            continue;
        scontrol_fail(s, "scontrol: error: %s%s is not supported: %s", what, refused[i].name,
                      refused[i].why);
        return true;
    }
    return false;
}

void scontrol_refused_names(FILE *f)
{
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        (void)fprintf(f, "%s\t%s\trefused\t%s\n", refused[i].what[0] ? "entity" : "verb",
                      refused[i].name, refused[i].why);
}
