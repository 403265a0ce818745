/* pick.h - which nodes a job gets */
#pragma once

#include "sched/sched.h"

struct pick;

int pick_nodes(struct pick *p); /* 1 = s->chosen by id order, 0 = does not fit, -ENOMEM */
enum sched_why pick_verdict(struct pick *p);
