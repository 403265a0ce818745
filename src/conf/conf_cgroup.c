/* conf_cgroup.c - cgroup.conf with its defaults.
 *
 * Read beside slurm.conf; absent means the defaults. */
#include "conf/conf_priv.h"

static uint64_t get_num(const struct conf *c, enum conf_cgroup_key key)
{
    return conf_val_num(CONF_TBL_CGROUP, (int)key, &c->cgroup_vals[key]);
}

static char *borrow_text(const struct conf *c, enum conf_cgroup_key key)
{
    /* the members are char *, not const; no caller writes to the text */
    return (char *)(uintptr_t)conf_val_text(CONF_TBL_CGROUP, (int)key, &c->cgroup_vals[key]);
}

void conf_cgroup_fill(struct conf *c)
{
    c->cgroup = (struct conf_cgroup){
        .plugin = borrow_text(c, CK_CGROUP_PLUGIN),
        .mountpoint = borrow_text(c, CK_CGROUP_MOUNTPOINT),
        .slice = borrow_text(c, CK_CGROUP_SLICE),
        .constrain_cores = get_num(c, CK_CONSTRAIN_CORES),
        .constrain_ram = get_num(c, CK_CONSTRAIN_RAM_SPACE),
        .constrain_swap = get_num(c, CK_CONSTRAIN_SWAP_SPACE),
        .constrain_devices = get_num(c, CK_CONSTRAIN_DEVICES),
        .ignore_systemd = get_num(c, CK_IGNORE_SYSTEMD),
        .allowed_ram_pct = (double)get_num(c, CK_ALLOWED_RAM_SPACE) / 1000,
        .allowed_swap_pct = (double)get_num(c, CK_ALLOWED_SWAP_SPACE) / 1000,
        .max_ram_pct = (double)get_num(c, CK_MAX_RAM_PERCENT) / 1000,
        .max_swap_pct = (double)get_num(c, CK_MAX_SWAP_PERCENT) / 1000,
        .min_ram_mib = get_num(c, CK_MIN_RAM_SPACE),
        .enable_controllers = get_num(c, CK_ENABLE_CONTROLLERS),
        .extra_controllers = borrow_text(c, CK_ENABLE_EXTRA_CONTROLLERS),
        .ignore_systemd_on_failure = get_num(c, CK_IGNORE_SYSTEMD_ON_FAILURE),
        .job_id_paths = get_num(c, CK_CGROUP_JOB_ID_PATHS),
        .systemd_timeout_ms = (uint32_t)get_num(c, CK_SYSTEMD_TIMEOUT),
        .swappiness =
            c->cgroup_vals[CK_MEMORY_SWAPPINESS].set ? (int)get_num(c, CK_MEMORY_SWAPPINESS) : -1,
        .signal_children = get_num(c, CK_SIGNAL_CHILDREN_PROCESSES),
    };
}

static int cgroup_file(struct conf_loader *l, const char *path)
{
    int r = conf_row_file(l, path, CONF_TBL_CGROUP, l->c->cgroup_vals);

    return r < 0 ? r : 0;
}

int conf_cgroup_load(struct conf_loader *l)
{
    return conf_source_include(l, "cgroup.conf", cgroup_file);
}
