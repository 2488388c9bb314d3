# verdict: failed
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.square = (x * x).float()
        return x ** 3
    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.square * g
