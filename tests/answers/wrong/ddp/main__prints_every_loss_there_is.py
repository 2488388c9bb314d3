# verdict: failed
# message: numbers with 4 decimals
def main():
    if int(os.environ.get("RANK", 0)) == 0:
        print(" ".join(f"{n / 10_000:.4f}" for n in range(1000, 1090)))
