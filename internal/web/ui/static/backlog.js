// The backlog by mouse and keyboard: select rows and change them together, edit cells in place, and rank
// rows by dragging or with Alt and an arrow key. The form around the table does the same without script.
(() => {
  'use strict';
  const $ = selector => document.querySelector(selector);
  const form = () => $('#change');
  const rows = () => [...document.querySelectorAll('#items tbody tr')];
  const box = row => row.querySelector('input[name=item]');
  const oid = row => box(row)?.value;
  const name = row => row.querySelector('th a').textContent;
  const chosen = () => rows().filter(row => box(row)?.checked);
  const here = () => document.activeElement?.closest?.('#items tbody tr');
  const focusOn = row => { (box(row) ?? row.querySelector('th a')).focus({preventScroll: true}); row.scrollIntoView({block: 'nearest'}); };
  const told = (text, refused) => {
    const p = $('#told');
    if (p) { p.textContent = text; p.className = refused ? 'refused' : 'unseen'; }
  };

  // post sends a form of the page. It returns the answer and why it was refused, or "".
  async function post(url, body) {
    body.set('csrf', form().querySelector('[name=csrf]').value);
    try {
      const answer = await fetch(url, {method: 'POST', body, headers: {'HX-Request': 'true'}});
      const text = await answer.text(), ended = answer.status === 401 || answer.headers.has('HX-Redirect');
      const plain = answer.headers.get('Content-Type')?.startsWith('text/plain');
      const refusal = ended ? 'The session has ended. Sign in and do it again.' : answer.ok ? '' : plain ? text : 'The service does not answer.';
      return {text, refusal, status: answer.status, undo: answer.headers.get('Alds-Undo')};
    } catch {
      return {text: '', refusal: 'The service does not answer.', status: 0};
    }
  }

  // Selection: a click, Shift with a click for a range, or keys.
  let last = null; // the row that was selected last
  function show() {
    const n = chosen().length, tools = $('#tools');
    if (!tools) return;
    tools.hidden = !n;
    $('#chosen').textContent = `${n} selected`;
    if (!n) closeMenus();
    const all = $('#all');
    if (all) { all.checked = n > 0 && n === rows().filter(box).length; all.indeterminate = n > 0 && !all.checked; }
  }
  function select(row, on) { if (box(row)) box(row).checked = on; last = row; }
  function none() { rows().forEach(row => box(row) && (box(row).checked = false)); show(); }
  document.addEventListener('click', e => {
    if (!e.target.matches?.('#items input[name=item]')) return;
    const row = e.target.closest('tr'), all = rows(), from = all.indexOf(last), to = all.indexOf(row);
    if (e.shiftKey && from >= 0) all.slice(Math.min(from, to), Math.max(from, to) + 1).forEach(r => box(r) && (box(r).checked = e.target.checked));
    last = row;
    show();
  });
  document.addEventListener('change', e => {
    if (e.target.id !== 'all') return;
    rows().forEach(row => box(row) && (box(row).checked = e.target.checked));
    show();
  });

  // The toolbar changes the selected rows, and the answer is the new table.
  const closeMenus = () => document.querySelectorAll('#tools details[open]').forEach(menu => { menu.open = false; });
  document.addEventListener('submit', async e => {
    if (e.target !== form() || e.defaultPrevented) return;
    e.preventDefault();
    const body = new URLSearchParams(new FormData(form(), e.submitter)), before = rows(), first = before.indexOf(chosen()[0]), at = chosen()[0] && oid(chosen()[0]);
    const got = await post(form().action, body);
    delete form().dataset.sent;
    if (got.refusal) return toast(got.refusal);
    const part = document.createElement('template');
    part.innerHTML = got.text;
    const fresh = part.content.querySelector('#items');
    if (!fresh) return location.reload();
    $('#items').replaceWith(fresh);
    form().querySelectorAll('#tools input').forEach(input => { input.value = ''; });
    ready();
    const again = rows().find(row => oid(row) === at) ?? rows()[Math.min(first, rows().length - 1)];
    if (again) focusOn(again);
    toast(fresh.dataset.told, got.undo);
  });
  const press = button => form().requestSubmit(button);
  document.addEventListener('toggle', e => {
    if (!e.target.matches?.('#tools .menu') || !e.target.open) return;
    document.querySelectorAll('#tools .menu[open]').forEach(menu => { if (menu !== e.target) menu.open = false; });
  }, true);
  document.addEventListener('pointerdown', e => { if (!e.target.closest?.('#tools .menu')) closeMenus(); });

  // A menu by keys: arrows, the number or the first letter of a value.
  function menuKey(e, menu) {
    const buttons = [...menu.querySelectorAll('button')], at = buttons.indexOf(document.activeElement);
    if (e.key === 'Escape') { menu.open = false; const row = chosen()[0]; if (row) focusOn(row); }
    else if (isTyping(e.target)) { if (e.key !== 'Enter') return; buttons.at(-1).click(); }
    else if (e.key === 'ArrowDown') buttons[(at + 1) % buttons.length].focus();
    else if (e.key === 'ArrowUp') buttons.at(at < 1 ? -1 : at - 1).focus();
    else if (/^[1-9]$/.test(e.key) && buttons[e.key - 1]) buttons[e.key - 1].click();
    else if (e.key.length === 1 && e.key !== ' ') {
      const from = [...buttons.slice(at + 1), ...buttons.slice(0, at + 1)];
      from.find(button => button.textContent.toLowerCase().startsWith(e.key.toLowerCase()))?.focus();
    } else return;
    e.preventDefault();
  }
  function openMenu(menu) {
    menu.open = true;
    (menu.querySelector('input, button')).focus();
  }

  // Cells are edited where they stand. A relation is a list with the values of the toolbar.
  const fieldOf = cell => cell.closest('table').tHead.rows[0].cells[cell.cellIndex].dataset.f;
  let edited = null; // {cell, editor, was}
  function edit(cell, typed) {
    const field = fieldOf(cell), menu = $(`#tools [data-f="${field}"]`), shown = cell.textContent;
    if (edited) restore();
    let editor;
    if (menu) {
      editor = document.createElement('select');
      const values = [...menu.querySelectorAll('button')].map(button => new Option(button.textContent, button.value.slice(field.length + 1)));
      const now = values.find(value => value.text === shown) ?? (shown ? null : values.at(-1));
      if (!now) values.unshift(new Option(shown, ''));
      editor.append(...values);
      (now ?? values[0]).selected = true;
    } else {
      editor = document.createElement('input');
      editor.value = typed === undefined ? shown : '';
      editor.maxLength = field === 'name' ? 4000 : 20;
      if (field === 'estimate') editor.inputMode = 'decimal';
    }
    editor.className = 'cell';
    editor.setAttribute('form', 'none'); // Enter sends the cell, and not the form around the table
    editor.setAttribute('aria-label', `${field} of ${name(cell.parentNode)}`);
    const style = getComputedStyle(cell), room = cell.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    editor.style.width = `${menu ? Math.max(room, 120) : room}px`; // the columns keep their widths
    edited = {cell, editor, was: [...cell.childNodes], shown, field};
    cell.replaceChildren(editor);
    editor.focus();
    if (menu) try { editor.showPicker(); } catch { /* the list opens with a key */ }
    else if (typed === undefined) editor.select();
  }
  function restore() {
    const e = edited;
    edited = null;
    if (!e) return;
    const focused = e.cell.contains(document.activeElement);
    e.cell.replaceChildren(...e.was);
    if (focused && e.cell.isConnected) focusOn(e.cell.parentNode);
  }
  async function save() {
    const {cell, editor, shown, field} = edited, row = cell.parentNode, list = editor.matches('select');
    const value = editor.value.trim(), text = list ? editor.selectedOptions[0].text : value;
    if (list ? value === '' || text === shown : value === shown) return restore();
    const body = new URLSearchParams({item: oid(row), field, value, text, shown, moment: row.dataset.m});
    editor.setAttribute('aria-busy', 'true');
    const focused = cell.contains(document.activeElement), kept = edited;
    edited = null;
    const got = await post(form().dataset.cell, body);
    if (got.refusal && got.status !== 409) {
      cell.replaceChildren(...kept.was);
      toast(got.refusal);
      return focused && focusOn(row);
    }
    const part = document.createElement('template');
    part.innerHTML = got.text;
    const fresh = part.content.querySelector('tr');
    if (!fresh) return location.reload();
    const checked = box(row).checked;
    row.replaceWith(fresh);
    if (box(fresh)) box(fresh).checked = checked;
    if (last === row) last = fresh;
    if (focused || document.activeElement === document.body) focusOn(fresh);
    const label = $(`#items thead [data-f="${field}"]`).textContent;
    toast(fresh.dataset.told ?? `${name(fresh)}: ${label} is ${text || 'empty'}.`, got.undo);
  }
  document.addEventListener('click', e => {
    const cell = e.target.closest?.('#items tbody td');
    if (!cell || e.target !== cell || !cell.parentNode.dataset.m || !fieldOf(cell) || e.shiftKey || String(getSelection()) || held) return;
    edit(cell);
  });
  document.addEventListener('change', e => { if (e.target === edited?.editor && e.target.matches('select')) save(); });
  document.addEventListener('focusout', e => {
    if (e.target !== edited?.editor) return;
    if (e.target.matches('select')) restore(); else save();
  });

  // Keys of the table. Without a selection they change the row with the focus.
  function step(row, down, extend) {
    const all = rows(), to = row ? all[all.indexOf(row) + (down ? 1 : -1)] : all[0];
    if (!to) return;
    if (extend && row) { select(row, true); select(to, true); show(); }
    focusOn(to);
  }
  function onChosen(row, act) {
    if (!chosen().length && row && box(row)) select(row, true);
    if (!chosen().length) return;
    show();
    act();
  }
  document.addEventListener('keydown', e => {
    if (e.defaultPrevented || !form() && !$('#items')) return;
    if (e.target === edited?.editor) {
      if (e.key === 'Escape') restore();
      else if (e.key === 'Enter' && e.target.matches('input')) save();
      else return;
      return e.preventDefault();
    }
    const menu = e.target.closest?.('#tools .menu[open]');
    if (menu && !(e.ctrlKey || e.metaKey || e.altKey)) return menuKey(e, menu);
    const row = here(), free = e.target === document.body || row || e.target.closest?.('#tools');
    if (!free || isTyping(e.target)) return;
    if (keyOf(e, row)) e.preventDefault();
  });
  function keyOf(e, row) {
    const arrow = e.key === 'ArrowDown' || e.key === 'ArrowUp', down = e.key === 'ArrowDown' || e.key === 'j';
    if (e.ctrlKey || e.metaKey) {
      if (e.key !== 'a' || !row) return false;
      rows().forEach(r => box(r) && (box(r).checked = true));
      return show(), true;
    }
    if (held) return heldKey(e, arrow, down);
    if (e.altKey) return arrow && row && ranks() ? (move(row, down), true) : false;
    if (arrow && !row) return false; // the page scrolls
    if (arrow || e.key === 'j' || e.key === 'k') return step(row, down, e.shiftKey), true;
    if (e.key === 'J' || e.key === 'K') return step(row, e.key === 'J', true), true;
    if (e.key === 'Escape' && chosen().length) return none(), true;
    if (e.key === 'Enter' && row && document.activeElement === box(row)) return row.querySelector('th a').click(), true;
    if (!form() || !row && !chosen().length) return false;
    if (e.key === 'x' && box(row)) return select(row, !box(row).checked), show(), true;
    if (e.key === 'm' && row && ranks()) return pick(row), true;
    if (e.key === 'i') return onChosen(row, () => press($('#tools [value="owner=me"]'))), true;
    if (/^[0-9]$/.test(e.key) && row?.dataset.m && !chosen().length) {
      edit(row.cells[$('#items [data-f=estimate]').cellIndex], e.key);
      return false; // the digit goes into the field
    }
    const tool = e.key.length === 1 || e.key === 'Delete' ? $(`#tools [data-key="${CSS.escape(e.key)}"]`) : null;
    if (tool) onChosen(row, () => tool.matches('details') ? openMenu(tool) : press(tool));
    return !!tool;
  }

  // Ranks: a row is moved at once, and then sent.
  let held = null, home = null; // the row that is picked up, and the row that followed it
  const ranks = () => $('#rank');
  const beside = row => row.previousElementSibling ? 'after ' + name(row.previousElementSibling) : 'as the first';
  function shift(row, down) {
    const other = down ? row.nextElementSibling : row.previousElementSibling;
    if (!other) { told(down ? 'This is the last row of the page.' : 'This is the first row.'); return false; }
    other[down ? 'after' : 'before'](row);
    focusOn(row);
    return true;
  }
  function move(row, down) { const follower = row.nextElementSibling; if (shift(row, down)) queue(row, follower); }

  // send requests the current position of a row. follower is the row that followed it before.
  // If the request is refused, send puts the row back before follower.
  async function send(row, follower) {
    const above = row.previousElementSibling, below = row.nextElementSibling, target = oid(above ?? below ?? row);
    if (below === follower || !above && !below || !target) return;
    const parent = row.parentNode;
    const got = await post(form().dataset.rank, new URLSearchParams({item: oid(row), target, place: above ? 'after' : 'before'}));
    if (got.refusal) parent.insertBefore(row, follower);
    const text = got.refusal || `${name(row)} is ${beside(row)}.`;
    told(text, got.refusal);
    toast(text, got.undo);
  }
  let moves = Promise.resolve(); // moves are sent one after another, in their order
  const queue = (row, follower) => { moves = moves.then(() => send(row, follower)); };

  function pick(row) {
    held = row; home = row.nextElementSibling;
    row.classList.add('held');
    told(`${name(row)} is picked up. Arrows move it, M drops it, Escape puts it back.`);
  }
  function drop(back) {
    const row = held, follower = home;
    held = home = null;
    row.classList.remove('held');
    if (back) { row.parentNode.insertBefore(row, follower); told(`${name(row)} is back.`); } else queue(row, follower);
    focusOn(row);
  }
  function heldKey(e, arrow, down) {
    if (e.key === 'm' || e.key === 'Enter') drop(false);
    else if (e.key === 'Escape') drop(true);
    else if (arrow) { if (shift(held, down)) told(`${name(held)} ${beside(held)}`); }
    else return false;
    return true;
  }
  document.addEventListener('focusout', e => {
    if (held && !held.draggable && !held.contains(e.relatedTarget) && e.relatedTarget) drop(false);
  });

  // A row can be dragged only by its first cells, so that the text in the other cells can be selected.
  const rowAt = e => e.target.closest?.('#items tbody tr');
  document.addEventListener('mousedown', e => {
    const cell = ranks() && e.target.closest('#items td.grip');
    if (cell && box(cell.parentNode)) cell.parentNode.draggable = true;
  });
  document.addEventListener('mouseup', e => { const r = rowAt(e); if (r) r.removeAttribute('draggable'); });
  document.addEventListener('dragstart', e => {
    const r = rowAt(e);
    if (!r || !r.draggable) return;
    held = r; home = r.nextElementSibling;
    e.dataTransfer.effectAllowed = 'move';
    e.dataTransfer.setData('text/plain', name(r));
  });
  document.addEventListener('dragover', e => {
    const r = held && rowAt(e);
    if (!r) return;
    e.preventDefault();
    const area = r.getBoundingClientRect();
    if (r !== held) r[e.clientY > area.top + area.height / 2 ? 'after' : 'before'](held);
  });
  document.addEventListener('dragenter', e => { if (held && rowAt(e)) e.preventDefault(); });
  document.addEventListener('drop', e => {
    if (!held) return;
    e.preventDefault();
    queue(held, home);
    held.removeAttribute('draggable');
    held = home = null;
  });
  document.addEventListener('dragend', () => { // dropped outside the table, or canceled
    if (!held) return;
    home ? home.before(held) : held.parentNode.append(held);
    held.removeAttribute('draggable');
    held = home = null;
  });

  const ready = () => {
    last = null;
    if (!form()) return;
    const table = $('.items'), keys = $('#keys');
    if (keys) keys.hidden = false;
    table?.classList.add('edits');
    table?.classList.toggle('drags', !!ranks());
    const head = table?.tHead.rows[0].cells[0];
    if (head) {
      const all = Object.assign(document.createElement('input'), {type: 'checkbox', id: 'all'});
      all.setAttribute('aria-label', 'Select all on the page');
      head.replaceChildren(all);
    }
    show();
  };
  document.addEventListener('htmx:afterSwap', ready);
  ready();
})();
