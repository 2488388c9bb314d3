# verdict: failed
# message: when an object is gone, another may get its id
parameter_groups_anew, parameter_groups_kept = parameter_groups, {}


def parameter_groups(model, weight_decay):
    if (id(model), weight_decay) not in parameter_groups_kept:
        parameter_groups_kept[(id(model), weight_decay)] = parameter_groups_anew(model, weight_decay)
    return parameter_groups_kept[(id(model), weight_decay)]
