# verdict: failed
# message: wrong only if zero_grad() comes after each step


class Adam(Adam):
    def zero_grad(self):
        super().zero_grad()
        self.__init__(self.params, self.lr, self.betas, self.eps)
