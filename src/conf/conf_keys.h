/* conf_keys.h - the key tables and the checking of single values; private to src/conf
 *
 * Pure data and pure functions.  Rows come from conf_keys.def and conf_options.def. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/conf.h"

enum conf_type {
    CONF_T_TEXT,
    CONF_T_PATH,
    CONF_T_BOOL,
    CONF_T_NUM,
    CONF_T_DUR,
    CONF_T_TIME,
    CONF_T_MIB,
    CONF_T_COUNT,
    CONF_T_PCT, /* kept in thousandths */
    CONF_T_WORD,
    CONF_T_LIST,
    CONF_T_PORTS, /* first port | last port << 16 */
    CONF_T_USER,
    CONF_T_HOST,
    CONF_T_MULTI,
};

enum conf_flag {
    CONF_F_ACTS = 1,
    CONF_F_KNOWN = 2,
    CONF_F_INF = 4,
};

#define CONF_NUM_NONE UINT64_MAX /* a TIME written as NONE, where that is allowed */

struct conf_keydef {
    const char *name;
    const char *def; /* default as it would be written, NULL = none */
    const char *unit;
    const char *summary;
    uint64_t min, max;
    enum conf_type type;
    unsigned flags;
};

enum conf_table_id {
    CONF_TBL_KEY,
    CONF_TBL_NODE,
    CONF_TBL_PART,
    CONF_TBL_NODESET,
    CONF_TBL_DOWN,
    CONF_TBL_POWER,
    CONF_TBL_GRES,
    CONF_TBL_CGROUP,
    CONF_TBL_GATHER,
    CONF_TBL_HELPER,
    CONF_TBL_NAMESPACE,
    CONF_TBL_OCI,
    CONF_TBL_TOPO,
    CONF_TBL_DBD,
    CONF_TBL_MAX_,
};

enum conf_node_key {
#define NODE_KEY(sym, ...) NK_##sym,
#include "conf/conf_keys.def"
    NK_MAX_
};
enum conf_part_key {
#define PART_KEY(sym, ...) PK_##sym,
#include "conf/conf_keys.def"
    PK_MAX_
};
enum conf_nodeset_key {
#define NODESET_KEY(sym, ...) SK_##sym,
#include "conf/conf_keys.def"
    SK_MAX_
};
enum conf_down_key {
#define DOWN_KEY(sym, ...) DK_##sym,
#include "conf/conf_keys.def"
    DK_MAX_
};
enum conf_power_key {
#define POWER_KEY(sym, ...) WK_##sym,
#include "conf/conf_keys.def"
    WK_MAX_
};
enum conf_gres_key {
#define GRES_KEY(sym, ...) GK_##sym,
#include "conf/conf_keys.def"
    GK_MAX_
};
enum conf_cgroup_key {
#define CGROUP_KEY(sym, ...) CK_##sym,
#include "conf/conf_keys.def"
    CK_MAX_
};

enum conf_gather_key {
#define GATHER_KEY(sym, ...) GAK_##sym,
#include "conf/conf_keys.def"
    GAK_MAX_
};

enum conf_helper_key {
#define HELPER_KEY(sym, ...) HK_##sym,
#include "conf/conf_keys.def"
    HK_MAX_
};

enum conf_namespace_key {
#define NAMESPACE_KEY(sym, ...) XK_##sym,
#include "conf/conf_keys.def"
    XK_MAX_
};
enum conf_oci_key {
#define OCI_KEY(sym, ...) OK_##sym,
#include "conf/conf_keys.def"
    OK_MAX_
};

enum conf_topo_key {
#define TOPO_KEY(sym, ...) TK_##sym,
#include "conf/conf_keys.def"
    TK_MAX_
};

struct conf_table {
    const char *what; /* how a message calls its lines, NULL for single keys */
    const struct conf_keydef *rows;
    size_t n;
};
extern const struct conf_table conf_tables[CONF_TBL_MAX_];

/* Row number of a key, letter case ignored, or -1. */
int conf_key_find(enum conf_table_id table, const char *name);

/* A sentence about an unknown key: names the nearest known key, or the key that replaced it. */
void conf_key_unknown(enum conf_table_id table, const char *name, struct err *err);

/* Check text against the row's type and range and give its value as a number (0 where it has none;
 * CONF_UNLIMITED for the infinite).  The words of a LIST are not looked at.
 * Errors: -EINVAL, -ERANGE with a sentence in err. */
int conf_value_check(enum conf_table_id table, int key, const char *text, uint64_t *ret_num,
                     struct err *err);

enum conf_opt_arg { CONF_ARG_NONE, CONF_ARG_NUM, CONF_ARG_NEG, CONF_ARG_ANY };

struct conf_opt {
    enum conf_table_id table;
    int key;
    const char *name;
    enum conf_opt_arg arg;
    uint64_t min, max;
    unsigned flags;
};

/* Check one word of a LIST value ("bf_interval=60", len bytes).  Writes a sentence into err and
 * returns -ENOENT for a word that is none of the key, -EINVAL for a wrong value and -EOPNOTSUPP for
 * a word without effect; keys without a word list accept all. */
int conf_word_check(enum conf_table_id table, int key, const char *word, size_t len,
                    struct err *err);

/* Why a word without effect has none; "" for the key itself. */
const char *conf_why(enum conf_table_id table, int key, const char *name);

/* Is the number within the bounds of the option?  true also for one that is in no table. */
bool conf_option_takes(enum conf_key key, const char *name, int64_t number);

/* The spelling of `word` as the table has it, or NULL. */
const char *conf_word_find(enum conf_table_id table, int key, const char *word, size_t len);
/* The words that a key knows, in order; gives how many of them are in ret. */
size_t conf_words(enum conf_table_id table, int key, const char **ret, size_t room);
