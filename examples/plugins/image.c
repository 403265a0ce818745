/* image.c - tasks inside a folder that holds a system: srun --container-image=/images/debian
 * --container-workdir=/srv
 *
 *     cc -shared -fPIC -o image.so image.c
 *     echo 'required /usr/local/lib/slurm/image.so /images' >> /etc/slurm/plugstack.conf
 *
 * The word behind the plugin is the folder in which images are.
 * --container-mounts=FROM:TO[,FROM:TO] shows folders of the node below the image, where the user
 * may enter them anyway.  A batch script runs outside; the options of sbatch are those of the steps
 * in it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

SPANK_PLUGIN(image, 1);

enum { IMAGE, WORKDIR, MOUNTS, OPTIONS };

static const char *given[OPTIONS];

static int take(int val, const char *text, int remote)
{
    if (val == IMAGE && strstr(text, "..")) {
        if (!remote)
            slurm_error("image: the name of an image has no \"..\"");
        return -1;
    }
    given[val] = strdup(text);
    return given[val] ? ESPANK_SUCCESS : -1;
}

struct spank_option spank_options[] = {
    { (char *)"container-image", (char *)"folder", (char *)"run the tasks inside this image", 1,
      IMAGE, take },
    { (char *)"container-workdir", (char *)"folder", (char *)"where they begin", 1, WORKDIR, take },
    { (char *)"container-mounts", (char *)"from:to", (char *)"folders of the node that they see", 1,
      MOUNTS, take },
    SPANK_OPTIONS_TABLE_END,
};

static int failed(const char *what, const char *name)
{
    slurm_error("image: %s %s: %s", what, name, strerror(errno));
    return ESPANK_ERROR;
}

/* Show `from` at `to` below the image, if the user may enter it. */
static int show(const char *image, const char *from, const char *to, uid_t uid, gid_t gid)
{
    char target[PATH_MAX];
    int r = 0;

    if (from[0] != '/' || to[0] != '/' || strstr(to, ".."))
        errno = EINVAL, r = -1;
    if (r == 0 && (setegid(gid) < 0 || seteuid(uid) < 0))
        _exit(1);
    if (r == 0)
        r = faccessat(AT_FDCWD, from, X_OK, AT_EACCESS);
    if (seteuid(0) < 0 || setegid(0) < 0)
        _exit(1); /* going on half as the user would be worse */
    if (r < 0)
        return failed("cannot show", from);
    (void)snprintf(target, sizeof(target), "%s%s", image, to);
    if (mount(from, target, NULL, MS_BIND | MS_REC, NULL) < 0)
        return failed("cannot show", from);
    return ESPANK_SUCCESS;
}

static int show_all(spank_t sp, const char *image)
{
    char *list = given[MOUNTS] ? strdup(given[MOUNTS]) : NULL, *at = NULL;
    uid_t uid;
    gid_t gid;
    int r = ESPANK_SUCCESS;

    if (spank_get_item(sp, S_JOB_UID, &uid) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_JOB_GID, &gid) != ESPANK_SUCCESS)
        r = ESPANK_ERROR;
    for (char *word = list ? strtok_r(list, ",", &at) : NULL; word && r == ESPANK_SUCCESS;
         word = strtok_r(NULL, ",", &at)) {
        char *colon = strchr(word, ':');

        if (colon)
            *colon = '\0';
        r = show(image, word, colon ? colon + 1 : word, uid, gid);
    }
    free(list);
    return r;
}

/* The variables by which options travel: whoever sets them for a script gives them to its sruns. */
static int pass_on(spank_t sp)
{
    static const char *const names[OPTIONS] = {
        [IMAGE] = "_SLURM_SPANK_OPTION_image_container_image",
        [WORKDIR] = "_SLURM_SPANK_OPTION_image_container_workdir",
        [MOUNTS] = "_SLURM_SPANK_OPTION_image_container_mounts",
    };

    for (int i = 0; i < OPTIONS; i++)
        if (given[i] && spank_setenv(sp, names[i], given[i], 1) != ESPANK_SUCCESS)
            return ESPANK_ERROR;
    return ESPANK_SUCCESS;
}

static int is_script(spank_t sp)
{
    uint32_t step;

    return spank_get_item(sp, S_JOB_STEPID, &step) == ESPANK_SUCCESS && step == SLURM_BATCH_SCRIPT;
}

/* In the task, still as root: a mount namespace of its own, with the image as its root. */
int slurm_spank_task_init_privileged(spank_t sp, int ac, char **av)
{
    char name[PATH_MAX], image[PATH_MAX], folder[PATH_MAX];

    if (!given[IMAGE])
        return ESPANK_SUCCESS;
    if (is_script(sp))
        return pass_on(sp);
    (void)snprintf(name, sizeof(name), "%s/%s", ac ? av[0] : "/images", given[IMAGE]);
    if (!realpath(ac ? av[0] : "/images", folder) || !realpath(name, image))
        return failed("there is no", name);
    if (strncmp(image, folder, strlen(folder)) != 0 || image[strlen(folder)] != '/') {
        slurm_error("image: %s leads out of %s", name, folder);
        return ESPANK_ERROR;
    }
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return failed("no namespace for", image);
    if (show_all(sp, image) != ESPANK_SUCCESS)
        return ESPANK_ERROR;
    if (chdir(image) < 0 || chroot(image) < 0 || chdir("/") < 0)
        return failed("cannot enter", image);
    if (spank_setenv(sp, "CONTAINER_IMAGE", given[IMAGE], 1) != ESPANK_SUCCESS ||
        spank_setenv(sp, "PATH", "/usr/local/bin:/usr/bin:/bin", 1) != ESPANK_SUCCESS)
        return ESPANK_ERROR;
    return ESPANK_SUCCESS;
}

/* As the user, at the work directory if the image has it. */
int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
    (void)ac;
    (void)av;
    if (given[IMAGE] && given[WORKDIR] && !is_script(sp) && chdir(given[WORKDIR]) < 0)
        return failed("cannot begin in", given[WORKDIR]);
    return ESPANK_SUCCESS;
}
