/* test_fairshare_peer.c - shares as Debian's Slurm 22.05 computes them, from the same trees and
 * usage
 *
 * tests/golden/fairshare.txt is what its sshare said (tests/peer/shares records it): rows of
 * Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS, the
 * account indented by its depth, below a line "tree NAME KIND DAMPENING".  RawUsage and
 * RawShares are put in; everything else has to come out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/rules/fairshare.h"

#define ROWS_MAX 64u
#define COLUMNS 9u

enum column {
    ACCOUNT,
    USER,
    RAW_SHARES,
    NORM_SHARES,
    RAW_USAGE,
    NORM_USAGE,
    EFFECTIVE,
    FAIR_SHARE,
    LEVEL
};
static const char *const names[COLUMNS] = { "Account",      "User",      "RawShares",
                                            "NormShares",   "RawUsage",  "NormUsage",
                                            "EffectvUsage", "FairShare", "LevelFS" };

struct tree {
    char title[128];
    enum fairshare_kind kind;
    uint32_t dampening;
    char *rows[ROWS_MAX][COLUMNS];
    struct fairshare_node nodes[ROWS_MAX];
    size_t n; /* of both; the root is none of them */
};
static unsigned wrong;

/* Where 22.05 and the documented way part.  A row of these must differ: one that agrees has to
 * leave the list. */
#define TIES                                                                                       \
    "accounts that tie are ranked one after the other there; documented, and so here, is one list of their children"
#define SCALE                                                                                      \
    "of several children all but one have their own ratio taken 2^-32 times there, and what is below them goes by that"
static const struct {
    const char *title, *account, *user, *why; /* title: how it begins */
} differs[] = {
    { "tree ties tree", "a", "bin", TIES },
    { "tree ties tree", "a", "sys", TIES },
    { "tree ties tree", "c", "news", TIES },
    { "tree flat oblivious", "a", "bin", SCALE },
    { "tree flat oblivious", "c", "lp", SCALE },
    { "tree deep oblivious", "chem", "mail", SCALE },
    { "tree deep oblivious", "physics", "lp", SCALE },
    { "tree deep oblivious", "theory", "", SCALE },
    { "tree deep oblivious", "theory", "games", SCALE },
    { "tree deep oblivious", "lattice", "", SCALE },
    { "tree deep oblivious", "lattice", "bin", SCALE },
    { "tree deep oblivious", "lattice", "sys", SCALE },
    { "tree parent oblivious", "b", "man", SCALE },
    { "tree parent oblivious", "c", "lp", SCALE },
    { "tree ties oblivious", "b", "lp", SCALE },
};

static void tree_clear(struct tree *t)
{
    for (size_t i = 0; i < t->n; i++)
        for (size_t c = 0; c < COLUMNS; c++)
            free(t->rows[i][c]);
    *t = (struct tree){ 0 };
}

static enum fairshare_kind kind_of(const char *word)
{
    if (strcmp(word, "classic") == 0)
        return FAIRSHARE_CLASSIC;
    return strcmp(word, "oblivious") == 0 ? FAIRSHARE_DEPTH_OBLIVIOUS : FAIRSHARE_TREE;
}

static size_t depth_of(const char *account)
{
    return strspn(account, " ");
}

static void take_row(struct tree *t, char *line)
{
    char **row = t->rows[t->n];
    size_t at = 0;

    if (depth_of(line) == 0)
        return; /* the root's */
    assert_true(t->n < ROWS_MAX);
    for (char *cell; at < COLUMNS && (cell = strsep(&line, "|")); at++)
        row[at] = strdup(cell);
    assert_int_equal(at, COLUMNS);
    t->n++;
}

/* Rows to nodes: the parent is the last account above that is less deep. */
static void plant(struct tree *t)
{
    for (size_t i = 0; i < t->n; i++) {
        struct fairshare_node *n = &t->nodes[i];

        *n = (struct fairshare_node){ .parent = FAIRSHARE_ROOT,
                                      .use_parent = strcmp(t->rows[i][RAW_SHARES], "parent") == 0,
                                      .user = t->rows[i][USER][0] != '\0',
                                      .usage = strtod(t->rows[i][RAW_USAGE], NULL) };
        n->shares = n->use_parent ? 1 : (uint32_t)strtoul(t->rows[i][RAW_SHARES], NULL, 10);
        for (size_t k = i; k-- > 0;) {
            if (t->nodes[k].user ||
                depth_of(t->rows[k][ACCOUNT]) + 1 != depth_of(t->rows[i][ACCOUNT]))
                continue;
            n->parent = (uint32_t)k;
            break;
        }
    }
    for (size_t i = t->n; i-- > 0;) /* what an account has beside its users' */
        if (t->nodes[i].parent != FAIRSHARE_ROOT)
            t->nodes[t->nodes[i].parent].usage -= strtod(t->rows[i][RAW_USAGE], NULL);
}

static bool may_differ(const struct tree *t, size_t i)
{
    const char *account = t->rows[i][ACCOUNT] + depth_of(t->rows[i][ACCOUNT]);

    for (size_t k = 0; k < ARRAY_SIZE(differs); k++)
        if (strncmp(t->title, differs[k].title, strlen(differs[k].title)) == 0 &&
            strcmp(account, differs[k].account) == 0 &&
            strcmp(t->rows[i][USER], differs[k].user) == 0)
            return true;
    return false;
}

/* 1 when the column is another than recorded. */
static unsigned expect(const struct tree *t, size_t i, enum column column, double value)
{
    const char *recorded = t->rows[i][column];
    char ours[64];

    if (isinf(value))
        (void)snprintf(ours, sizeof(ours), "inf");
    else
        (void)snprintf(ours, sizeof(ours), "%f", value);
    if (strcmp(recorded, ours) == 0)
        return 0;
    if (!may_differ(t, i))
        print_message("# %s: %s of %s %s is %s, not %s\n", t->title, names[column],
                      t->rows[i][ACCOUNT], t->rows[i][USER], ours, recorded);
    return 1;
}

static void check(struct tree *t)
{
    if (!t->n)
        return;
    plant(t);
    assert_int_equal(fairshare_compute(t->nodes, t->n, t->kind, t->dampening), 0);
    for (size_t i = 0; i < t->n; i++) {
        const struct fairshare_node *n = &t->nodes[i];
        bool tree = t->kind == FAIRSHARE_TREE;

        unsigned other = expect(t, i, NORM_SHARES, n->norm_shares) +
                         expect(t, i, NORM_USAGE, n->norm_usage) +
                         expect(t, i, EFFECTIVE, n->effective_usage);

        if (n->user || !tree)
            other += expect(t, i, FAIR_SHARE, n->factor);
        if (tree && !n->use_parent)
            other += expect(t, i, LEVEL, n->level_fs);
        if (may_differ(t, i) && !other)
            print_message("# %s: %s %s is as recorded and listed as another\n", t->title,
                          t->rows[i][ACCOUNT], t->rows[i][USER]);
        wrong += may_differ(t, i) ? !other : other;
    }
}

static void test_recorded(void **state)
{
    _cleanup_fclose_ FILE *f = fopen(SOURCE_ROOT "/tests/golden/fairshare.txt", "re");
    struct tree t = { 0 };
    char line[1024], kind[32];
    size_t trees = 0;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "tree ", 5) == 0) {
            check(&t);
            tree_clear(&t);
            (void)snprintf(t.title, sizeof(t.title), "%s", line);
            assert_int_equal(sscanf(line, "tree %*s %31s %u", kind, &t.dampening), 2);
            t.kind = kind_of(kind);
            trees++;
        } else if (line[0] != '#') {
            take_row(&t, line);
        }
    }
    check(&t);
    tree_clear(&t);
    assert_int_equal(trees, 25); /* five trees, five ways */
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_recorded) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
