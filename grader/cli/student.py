"""The commands of a student that run none of their code: ``init``, ``list``, ``hint``, ... It imports nothing slow."""

import contextlib
import datetime
import sys
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace
from typer import Argument, Option

from grader.cli import options
from grader.cli.command_line import app, columns, print_lines
from grader.course import Course, handout
from grader.course.due import moment
from grader.course.home import Home, LastCheck, Origin, installed_courses
from grader.course.lessons import lesson_of
from grader.course.record import Record
from grader.course.stubs import solution_of
from grader.course.tables import ALWAYS
from grader.course.update import reset as put_back
from grader.course.update import update as bring_up_to_date
from grader.errors import UserError
from grader.reports import where
from grader.text import counted


@app.command("list")
def list_exercises(
    names: Annotated[list[str] | None, options.named(metavar="TOPIC | EXERCISE | ASSIGNMENT")] = None,
    course: options.CourseOption = None,
) -> None:
    """List topics and exercises with their points, and your progress.

    Assignments are listed with their due dates, the one at hand first.

    Examples:
      grader list
      grader list tensor_ops
      grader list week2
    """
    loaded, home = Course.load(options.course_path(course), complete=False), Home.here()
    part = options.part_of(loaded, home, names or ())
    print_lines(where.list_lines(part, home.progress(), part.select(names or ())), columns())


@app.command()
def courses() -> None:
    """List the courses that are installed: the shipped one, and those of packages.

    Examples:
      grader courses
      grader init kata --course NAME
    """
    typer.echo(f"{Course.load(None, complete=False).title}  (shipped; without --course)")
    for one in installed_courses():
        try:
            about = Course.load(one.name, complete=False).title
        except UserError as error:
            about = f"cannot be used: {error}"
        typer.echo(f"{one.name}  {about}  ({one.package})")


@app.command("next")
def next_exercise(course: options.CourseOption = None) -> None:
    """Say which exercise is next, and its file and line.

    Example:
      grader next
    """
    home = Home.find()
    if home is None:
        fix = "change into it, or start one: grader init kata"
        raise UserError("this is not a folder of yours, so no exercise is next", fix=fix)
    loaded = options.part_of(Course.load(options.course_path(course), complete=False), home)
    found = where.next_of(loaded, home.progress())
    if found is None:
        print_lines(["all is done"])
        return
    assignment = where.assignment_of(loaded, found.full_name)
    more = f"  ({where.named_with_date(assignment)})" if assignment else ""
    place = where.Locations(home.folder).of(found.full_name)
    print_lines([f"{found.full_name}  {place}{more}", *where.steps_lines(found)])


@app.command()
def learn(
    name: Annotated[
        str | None,
        options.named(
            metavar="TOPIC | EXERCISE", help="For example autograd, or autograd.sgd_step.  [default: the topic at hand]"
        ),
    ] = None,
    course: options.CourseOption = None,
) -> None:
    """Read the lesson of a topic, or the part for one exercise.

    Examples:
      grader learn
      grader learn autograd
      grader learn autograd.sgd_step
    """
    loaded = Course.load(options.course_path(course), complete=False)
    wanted = loaded.select([name or options.one_exercise(loaded, None, "learn").topic])
    topics = list(dict.fromkeys(one.partition(".")[0] for one in wanted))
    lessons = [lesson for topic in topics if (lesson := lesson_of(loaded, topic))]
    if not lessons:
        known = [topic.name for topic in loaded.topics if loaded.lesson_file(topic.name).is_file()]
        fix = f"these have one: {', '.join(known)}" if known else None
        raise UserError(f"`{topics[0]}` has no lesson" if known else "this course has no lessons", fix=fix)
    from grader.reports.lessons import print_lesson, show_in_pages
    from grader.reports.terminal import make_console

    only = lessons[0].idea_of(wanted[0]) if len(wanted) == 1 and name not in topics else None
    console = make_console()
    with console.capture() as printed:
        for number, lesson in enumerate(lessons):
            if number:
                console.print()
            print_lesson(lesson, console, only)
    if not (console.is_terminal and not console.is_dumb_terminal and sys.stdin.isatty()):
        typer.echo(printed.get(), nl=False)
        return
    home = Home.find()
    record = Record(home) if home and only is None and len(topics) == 1 else None
    if record is None or record.was_asked(topics[0]) or not loaded.topic(topics[0]).questions:
        show_in_pages(printed.get())
        return
    from grader.grading.questions import LineRun, ask_all

    with contextlib.closing(LineRun(loaded.topic(topics[0]).questions)) as run:
        show_in_pages(printed.get())
        console.print()
        ask_all(loaded, topics[0], console, run)
    record.note_asked(topics[0])


@app.command()
def hint(
    name: options.ExerciseArgument = None,
    level: Annotated[int, Option(min=1, help="A higher level says more.")] = 1,
    course: options.CourseOption = None,
) -> None:
    """Print a hint for an exercise.

    Examples:
      grader hint
      grader hint gram
      grader hint tensor_ops.gram --level 2
    """
    loaded = Course.load(options.course_path(course), complete=False)
    exercise = options.one_exercise(loaded, name, "hint", manual=True)
    if not exercise.hints:
        raise UserError(f"{exercise.full_name} has no hints")
    if level > len(exercise.hints):
        raise UserError(f"{exercise.full_name} has no level {level}", fix=f"levels go from 1 to {len(exercise.hints)}")
    assignment = where.assignment_of(loaded, exercise.full_name)
    if name is None or assignment:
        typer.echo(f"{exercise.full_name}" + (f" ({where.named_with_date(assignment)}):" if assignment else ":"))
    typer.echo(exercise.hints[level - 1])
    if line := where.lesson_line(loaded, exercise.full_name):
        typer.echo(line)
    if level < len(exercise.hints):
        typer.echo(f"more: grader hint {exercise.full_name} --level {level + 1}")


@app.command()
def solution(
    name: options.ExerciseArgument = None,
    beside: Annotated[
        bool, Option("--beside", help="Yours beside it, and how many calls of torch each makes in the example.")
    ] = False,
    course: options.CourseOption = None,
) -> None:
    """Print the course's own solution of an exercise that you have passed.

    Examples:
      grader solution tensor_ops.gram
      grader solution tensor_ops.gram --beside
    """
    loaded = Course.load(options.course_path(course), complete=False)
    exercise = options.one_exercise(loaded, name, "solution")
    is_shown = loaded.show_solutions == "after_passing"
    if not is_shown and not beside:
        raise UserError("this course does not show its solutions")
    file = loaded.solution_file(exercise.topic)
    if not beside:
        loaded.require_solutions("solution")
    full_name, home, until = exercise.full_name, Home.here(), exercise.hidden_until
    if until != ALWAYS and moment(until) > datetime.datetime.now(datetime.timezone.utc):
        raise UserError(
            f"{full_name} may have checks that are hidden until {until[:10]}: its solution is not shown before"
        )
    last = home.progress().get(full_name)
    if last is None or last.state != "passed":
        raise UserError(f"{full_name} has not passed yet", fix=f"its solution is shown after: grader check {full_name}")
    if not beside:
        typer.echo(solution_of(file, exercise.name))
        return
    from grader.course.definitions import block_of, lines_in
    from grader.grading.settings import topics_of
    from grader.grading.torch_calls import torch_calls
    from grader.intake.find import open_submission
    from grader.reports.beside import print_beside
    from grader.reports.terminal import make_console

    files = open_submission(home.folder, topics_of(loaded)).read().files
    mine = "\n".join(block_of(lines_in(files.get(f"{exercise.topic}.py", b"")), exercise.name))
    theirs = {one.name: one.read_bytes() for one in file.parent.glob("*.py")} if file.is_file() else {}
    calls = torch_calls(loaded, exercise, files), torch_calls(loaded, exercise, theirs) if theirs else None
    shown = solution_of(file, exercise.name) if theirs and is_shown else ""
    print_beside(mine, shown, calls, make_console())


@app.command()
def reset(name: options.ExerciseArgument = None, course: options.CourseOption = None) -> None:
    """Put one exercise back as it was handed out; your file is kept beside it. Without a name it asks first.

    Examples:
      grader reset
      grader reset tensor_ops.gram
    """
    loaded = Course.load(options.course_path(course), complete=False)
    exercise = options.one_exercise(loaded, name, "reset")
    home = Home.here()
    if name is None:  # the exercise at hand may be another one than the student has in mind
        try:
            is_wanted = typer.confirm(f"put {exercise.full_name} back as it was handed out?")
        except typer.Abort:
            fix = f"name the exercise: grader reset {exercise.full_name}"
            raise UserError("nobody answered, so nothing was put back", fix=fix) from None
        if not is_wanted:
            typer.echo("nothing was changed")
            return
    backup = put_back(loaded, home.folder, exercise.full_name)
    home.note({exercise.full_name: LastCheck("unwritten", 0.0, exercise.points)})
    if backup is None:
        typer.echo(f"{exercise.full_name} is still as it was handed out: nothing to put back")
    else:
        typer.echo(f"{exercise.full_name} is as it was handed out; your text is in {backup.name}")


@app.command()
def init(
    folder: Annotated[
        Path | None, Argument(metavar="DIR", help="A new folder for your work.", show_default=False)
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace files, keeping each as NAME.bak.")] = False,
    update: Annotated[
        bool, Option("--update", help="Bring new exercises and docstrings into a folder; answers stay.")
    ] = False,
    notebooks: Annotated[bool, Option("--notebooks", help="Notebooks instead of Python files.")] = False,
    assignment: Annotated[
        str | None, Option(metavar="NAME", help="Only this assignment; later ones go into the same folder.")
    ] = None,
    course: options.CourseOption = None,
) -> None:
    """Start a folder to work in, with every topic's exercises.

    With --assignment it has those of one assignment; later ones go into the same folder, beside the work in it.

    Examples:
      grader init my-work
      grader init my-work --course my-course
      grader init my-work --course my-course --assignment week1
      grader init --assignment week2
      grader init --update
    """
    home = Home.find(folder)
    if update:
        if assignment is not None:
            fix = f"first: grader init --assignment {assignment}"
            raise UserError("--update is about the assignments that are here", fix=fix)
        home = home or Home(folder or Path())
        own = course or home.course
        origin = replace(Origin.of(course), assignments=home.origin.assignments) if course else home.origin
        changes = bring_up_to_date(Course.load(own), home.folder, origin)
        print_lines([f"note: {one.text}" if one.is_problem else one.text for one in changes] or ["all is up to date"])
        return
    if folder is None and assignment is not None and home is not None:
        folder = Path() if home.folder == Path.cwd() else home.folder
    if folder is None:
        raise UserError("a folder is missing", fix="name a new folder, for example: grader init kata")
    course = course or options.course_here()
    origin = Origin.of(course)
    if course is None and assignment is not None and (near := home or Home.find()) is not None:
        course, origin = near.course, near.origin
    loaded = Course.load(course)
    written = handout.init(loaded, folder, origin, force=force, notebooks=notebooks, assignment=assignment)
    typer.echo(
        f"{folder}: {counted(len(written), 'file')} written" if written else f"{folder}: everything is there already"
    )
    part, home = loaded.part_of([assignment] if assignment else []), Home(folder)
    bases = {topic.name: home.base(topic.name) for topic in part.modules}
    if changed := [name for name, base in bases.items() if base and base != loaded.stub_file(name).read_bytes()]:
        typer.echo(f"changed since you began with it: {', '.join(changed)}; get what is new: grader init --update")
    if (notebooks or handout.has_notebooks(part)) and part.modules:
        typer.echo(f"next: open {part.modules[0].name}.ipynb in {folder}")
        return
    name = f'"{folder}"' if " " in str(folder) else folder
    there = "" if folder.resolve() == Path.cwd() else f"cd {name} && "
    typer.echo(f"next: {there}grader")
