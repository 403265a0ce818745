/* pam_login.c - what sshd does with PAM's account modules, and nothing else
 *
 * pam_login CONFDIR SERVICE USER [COMMAND...]: prints what the modules say, the outcome's number
 * and the variables they set; then it becomes COMMAND, when the outcome is success. */
#include <security/pam_appl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int converse(int n, const struct pam_message **msg, struct pam_response **resp, void *ctx)
{
    (void)ctx;
    *resp = calloc((size_t)n, sizeof(**resp));
    for (int i = 0; i < n; i++)
        printf("message: %s\n", msg[i]->msg);
    return *resp ? PAM_SUCCESS : PAM_BUF_ERR;
}

int main(int argc, char **argv)
{
    struct pam_conv conv = { converse, NULL };
    pam_handle_t *pam;
    char **env;
    int r;

    if (argc < 4 || pam_start_confdir(argv[2], argv[3], &conv, argv[1], &pam) != PAM_SUCCESS)
        return 100;
    r = pam_acct_mgmt(pam, 0);
    printf("outcome: %d\n", r);
    env = pam_getenvlist(pam);
    for (size_t i = 0; env && env[i]; i++)
        printf("env: %s\n", env[i]);
    (void)fflush(stdout);
    (void)pam_end(pam, r);
    if (r == PAM_SUCCESS && argc > 4) {
        (void)execvp(argv[4], argv + 4);
        return 101;
    }
    return r == PAM_SUCCESS ? 0 : 1;
}
