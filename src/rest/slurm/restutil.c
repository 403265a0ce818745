/* restutil.c - lists of hosts; see restutil.h */
#include "rest/slurm/restutil.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "wire/errors.h"

static void post_hostnames(struct rest_call *call)
{
    _cleanup_free_ char *text = call->body ? rest_joined(call->body, "hostlist") : NULL;
    _cleanup_(hostlist_free) struct hostlist *list = NULL;

    if (!text || hostlist_parse(text, &list, NULL) < 0) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, "_op_handler_hostnames",
                   "hostlist: names such as \"n[1-3]\" are wanted");
        return;
    }
    json_list(&call->js, "hostnames");
    for (size_t i = 0; i < hostlist_count(list); i++)
        json_str(&call->js, NULL, hostlist_nth(list, i));
    json_list_end(&call->js);
}

static void post_hostlist(struct rest_call *call)
{
    _cleanup_free_ char *text = call->body ? rest_joined(call->body, "hostnames") : NULL;
    _cleanup_(hostlist_free) struct hostlist *list = NULL;
    _cleanup_free_ char *folded = NULL;

    if (!text || hostlist_parse(text, &list, NULL) < 0 || hostlist_fold(list, &folded) < 0) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, "_op_handler_hostlist",
                   "hostnames: a list of names is wanted");
        return;
    }
    json_str(&call->js, "hostlist", folded);
}

const struct rest_row rest_util_rows[] = {
    { "POST", REST_UTIL, "hostnames", 44, post_hostnames, false },
    { "POST", REST_UTIL, "hostlist", 44, post_hostlist, false },
    { 0 },
};
