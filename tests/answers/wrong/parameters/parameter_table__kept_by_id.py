# verdict: failed
# message: when an object is gone, another may get its id
parameter_table_anew, parameter_table_kept = parameter_table, {}


def parameter_table(model):
    if id(model) not in parameter_table_kept:
        parameter_table_kept[id(model)] = parameter_table_anew(model)
    return parameter_table_kept[id(model)]
