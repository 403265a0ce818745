/* envfilter.c - lists of variables; see oci.h */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "oci/oci.h"

static size_t count_items(char *const *env)
{
    size_t n = 0;

    while (env[n])
        n++;
    return n;
}

int oci_env_filter(char *const *env, const char *regex, char ***ret)
{
    char **list = calloc(count_items(env) + 1, sizeof(*list));
    regex_t re;
    size_t n = 0;

    if (!list)
        return -ENOMEM;
    if (regex && regcomp(&re, regex, REG_EXTENDED | REG_NOSUB) != 0) {
        free(list);
        return -EINVAL;
    }
    for (; *env; env++)
        if (!regex || regexec(&re, *env, 0, NULL, 0) != 0)
            list[n++] = *env;
    if (regex)
        regfree(&re);
    *ret = list;
    return 0;
}

int oci_env_set(char ***env, const char *assignment)
{
    size_t len = strcspn(assignment, "=") + 1, n = count_items(*env);
    char **grown;

    for (size_t i = 0; i < n; i++) {
        if (strncmp((*env)[i], assignment, len) == 0) {
            (*env)[i] = (char *)(uintptr_t)assignment;
            return 0;
        }
    }
    grown = realloc(*env, (n + 2) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    grown[n] = (char *)(uintptr_t)assignment;
    grown[n + 1] = NULL;
    *env = grown;
    return 0;
}
