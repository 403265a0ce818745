/* pmix_client.c - a rank that speaks PMIx: puts, meets, reads what the others have put, says
 * what it is. */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(const char *what, pmix_status_t st)
{
    if (st == PMIX_SUCCESS)
        return;
    fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(st));
    exit(1);
}

static uint32_t fact(const char *nspace, pmix_rank_t rank, const char *key)
{
    pmix_proc_t proc;
    pmix_value_t *v = NULL;
    uint32_t n;

    PMIX_LOAD_PROCID(&proc, nspace, rank);
    must(key, PMIx_Get(&proc, key, NULL, 0, &v));
    n = v->type == PMIX_UINT16      ? v->data.uint16
        : v->type == PMIX_PROC_RANK ? v->data.rank
                                    : v->data.uint32;
    PMIX_VALUE_RELEASE(v);
    return n;
}

/* argv[1] "direct": nothing is collected, each value is asked for. */
int main(int argc, char **argv)
{
    pmix_proc_t me, all, other;
    pmix_info_t *info;
    pmix_value_t value, *v;
    bool collect = argc < 2 || strcmp(argv[1], "direct") != 0;
    uint32_t size;
    char text[64];

    must("init", PMIx_Init(&me, NULL, 0));
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    size = fact(me.nspace, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
    snprintf(text, sizeof(text), "from %u", me.rank);
    PMIX_VALUE_LOAD(&value, text, PMIX_STRING);
    must("put", PMIx_Put(PMIX_GLOBAL, "test.word", &value));
    must("commit", PMIx_Commit());
    PMIX_INFO_CREATE(info, 1);
    PMIX_INFO_LOAD(info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    must("fence", PMIx_Fence(&all, 1, info, 1));
    for (uint32_t r = 0; r < size; r++) {
        PMIX_LOAD_PROCID(&other, me.nspace, r);
        must("get", PMIx_Get(&other, "test.word", NULL, 0, &v));
        snprintf(text, sizeof(text), "from %u", r);
        if (strcmp(v->data.string, text) != 0) {
            fprintf(stderr, "rank %u says %s\n", r, v->data.string);
            return 1;
        }
        PMIX_VALUE_RELEASE(v);
    }
    printf("%s %u of %u: node %u, local %u of %u, app %u\n", me.nspace, me.rank, size,
           fact(me.nspace, me.rank, PMIX_NODEID), fact(me.nspace, me.rank, PMIX_LOCAL_RANK),
           fact(me.nspace, PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE),
           fact(me.nspace, me.rank, PMIX_APPNUM));
    must("last fence", PMIx_Fence(&all, 1, NULL, 0)); /* who leaves early cannot be asked */
    must("finalize", PMIx_Finalize(NULL, 0));
    return 0;
}
