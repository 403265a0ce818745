/* slurmstate.c - see slurmstate.h */
#include "kube/nodeset/slurmstate.h"

#include <string.h>

#include "kube/make/opkeys.h"

bool slurmstate_has_word(const json_t *state, const char *word)
{
    size_t i;
    json_t *one;

    json_array_foreach(state, i, one)
    {
        const char *text = json_string_value(one);

        if (text && strcmp(text, word) == 0)
            return true;
    }
    return false;
}

bool slurmstate_is_busy(const json_t *state)
{
    return slurmstate_has_word(state, "ALLOCATED") || slurmstate_has_word(state, "MIXED") ||
           slurmstate_has_word(state, "COMPLETING");
}

bool slurmstate_is_drained(const json_t *state)
{
    return slurmstate_has_word(state, "DRAIN") && !slurmstate_has_word(state, "UNDRAIN") &&
           !slurmstate_is_busy(state);
}

/* A node that was set down is not said to be silent, whether or not its slurmd has ended. */
bool slurmstate_is_dead(const json_t *node)
{
    const json_t *state = json_object_get(node, "state");
    const char *reason = json_string_value(json_object_get(node, "reason"));

    return slurmstate_has_word(state, "DOWN") &&
           (slurmstate_has_word(state, "NOT_RESPONDING") ||
            (reason && strcmp(reason, OPKEY_ENDED) == 0)) &&
           !slurmstate_is_busy(state);
}
