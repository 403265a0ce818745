/* maria_util.h - a MariaDB server of the test's own, in a temporary folder, on a socket alone
 *
 * Needs acct_util.h before it: its worlds are databases of the server while this one runs. */
#pragma once

#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "base/timefmt.h"

extern char **environ;

struct maria_server {
    char dir[64], socket[96];
    pid_t pid;
};

UTIL pid_t spawn_quietly(char *const argv[])
{
    posix_spawn_file_actions_t to;
    pid_t pid;
    int r;

    assert_int_equal(posix_spawn_file_actions_init(&to), 0);
    for (int fd = 0; fd <= 2; fd++)
        assert_int_equal(posix_spawn_file_actions_addopen(&to, fd, "/dev/null", O_RDWR, 0), 0);
    r = posix_spawnp(&pid, argv[0], &to, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&to);
    return r == 0 ? pid : -1;
}

UTIL bool run_quietly(char *const argv[])
{
    pid_t pid = spawn_quietly(argv);
    int status;

    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* A connection to the server, or what keeps it from being there. */
UTIL int maria_connect(const struct maria_server *m, const char *database, struct sql **ret_db)
{
    char location[256];

    (void)snprintf(location, sizeof(location), "mysql:%s:0:root::%s", m->socket, database);
    return sql_open(location, SQL_WRITE, ret_db, NULL);
}

UTIL bool maria_answers(const struct maria_server *m)
{
    int64_t until = now_mono_us() + 60 * SEC;
    struct sql *db;

    while (now_mono_us() < until) {
        const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };

        if (waitpid(m->pid, NULL, WNOHANG) != 0)
            return false;
        if (maria_connect(m, "first", &db) == 0) {
            assert_null(sql_close(db));
            return true;
        }
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

/* False: the machine has no server.  From then on worlds are its databases (see acct_util.h). */
UTIL bool maria_start(struct maria_server *m)
{
    char data[96], datadir[112], sock[112], pidfile[112], user[32];
    char *install[] = { (char *)"mariadb-install-db",
                        (char *)"--no-defaults",
                        datadir,
                        user,
                        (char *)"--auth-root-authentication-method=normal",
                        (char *)"--skip-test-db",
                        NULL };
    char *serve[] = { (char *)"mariadbd",
                      (char *)"--no-defaults",
                      datadir,
                      user,
                      sock,
                      pidfile,
                      (char *)"--skip-networking",
                      (char *)"--performance-schema=OFF",
                      (char *)"--innodb-buffer-pool-size=16M",
                      (char *)"--innodb-lock-wait-timeout=1",
                      NULL };

    const struct passwd *pw = getpwuid(getuid());

    (void)snprintf(m->dir, sizeof(m->dir), "/tmp/penstock-maria-XXXXXX");
    assert_non_null(mkdtemp(m->dir));
    (void)snprintf(data, sizeof(data), "%s/data", m->dir);
    (void)snprintf(datadir, sizeof(datadir), "--datadir=%s", data);
    (void)snprintf(m->socket, sizeof(m->socket), "%s/s", m->dir);
    (void)snprintf(sock, sizeof(sock), "--socket=%s", m->socket);
    (void)snprintf(pidfile, sizeof(pidfile), "--pid-file=%s/pid", m->dir);
    (void)snprintf(user, sizeof(user), "--user=%s", pw ? pw->pw_name : "root");
    assert_int_equal(setenv("PATH", "/usr/sbin:/usr/bin:/usr/libexec:/sbin:/bin", 1), 0);
    if (!run_quietly(install)) {
        remove_tree(AT_FDCWD, m->dir);
        return false;
    }
    m->pid = spawn_quietly(serve);
    assert_true(m->pid > 0);
    assert_true(maria_answers(m));
    assert_int_equal(setenv("PENSTOCK_TEST_MYSQL", m->socket, 1), 0);
    return true;
}

UTIL void maria_stop(struct maria_server *m)
{
    if (m->pid > 0) {
        (void)kill(m->pid, SIGKILL);
        (void)waitpid(m->pid, NULL, 0);
    }
    m->pid = 0;
    remove_tree(AT_FDCWD, m->dir);
    (void)unsetenv("PENSTOCK_TEST_MYSQL");
}
