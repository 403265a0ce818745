/* admin_cost.h - what a request may cost the thread that serves all of them; acct/ only
 *
 * Each name of a condition is compared with each record.  What operators ask for is done; others
 * are told to ask for less when the product of both is work for more than some seconds. */
#pragma once

#include "acct/admin/admin_impl.h"

/* Names and numbers in a condition on rows of tables, whose number nobody knows before. */
#define COST_TABLE_NAMES 4096u

/* 0, or -EINVAL with a sentence. */
int cost_check_list(struct admin_run *run, const Pst__AcctListRequest *req, struct err *err);
int cost_check_run(struct admin_run *run, const Pst__AcctAdminRequest *req, struct err *err);
