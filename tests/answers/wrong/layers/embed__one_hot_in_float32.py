# verdict: failed
def embed(ids, table):
    return F.one_hot(ids, len(table)).float() @ table.float()
