from concurrent.futures import ThreadPoolExecutor


def count_letters(text):
    return sum(1 for letter in text if letter.isalpha())


def title(text):
    return text.title()


def finished(future):
    report(future.result())


def report(result):
    print("result", result)


def count_all(texts):
    with ThreadPoolExecutor(max_workers=1) as executor:
        future = executor.submit(title, texts[0])
        future.add_done_callback(finished)
        return list(executor.map(count_letters, texts))


print(count_all(["one 1", "two 22"]))
